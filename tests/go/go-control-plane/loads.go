package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// loads is what clients have reported (LRS), by the id of their nodes. It outlives streams and restarts.
type loads struct {
	interval time.Duration
	lock     sync.Mutex
	byNode   map[string]*load
}

// load is what one client has reported.
type load struct {
	// Streams is how many it has opened.
	Streams int `json:"streams"`
	// Last is how many requests were issued by its last message but the first of a stream.
	Last uint64 `json:"last"`
	// Issued is the sum of the requests that were issued, by cluster.
	Issued map[string]uint64 `json:"issued"`
}

// StreamLoadStats asks for all clusters, and sums up what comes. It asks again after each report: an Envoy reports the
// clusters that it had when it was asked.
func (l *loads) StreamLoadStats(stream loadstats.LoadReportingService_StreamLoadStatsServer) error {
	node := ""
	for {
		report, err := stream.Recv()
		if err != nil {
			return err
		}
		first := node == ""
		if first {
			node = report.GetNode().GetId()
		}
		l.add(node, first, report)
		err = stream.Send(&loadstats.LoadStatsResponse{
			SendAllClusters:       true,
			LoadReportingInterval: durationpb.New(l.interval),
		})
		if err != nil {
			return err
		}
	}
}

func (l *loads) add(node string, first bool, report *loadstats.LoadStatsRequest) {
	l.lock.Lock()
	defer l.lock.Unlock()
	of := l.byNode[node]
	if of == nil {
		of = &load{Issued: make(map[string]uint64)}
		l.byNode[node] = of
	}
	if first {
		of.Streams++
	}
	var issued uint64
	for _, cluster := range report.GetClusterStats() {
		of.Issued[cluster.GetClusterName()] += 0
		for _, locality := range cluster.GetUpstreamLocalityStats() {
			issued += locality.GetTotalIssuedRequests()
			of.Issued[cluster.GetClusterName()] += locality.GetTotalIssuedRequests()
		}
	}
	if !first {
		of.Last = issued
	}
}

func (l *loads) write(w http.ResponseWriter) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	return json.NewEncoder(w).Encode(l.byNode)
}
