// A control plane made with the library go-control-plane, steered by tests over HTTP.
//
// It owns the choice of the library's cache and of how nodes are distinguished. What is published, and for which node, is
// for the test to decide:
//
//	PUT  /resources?node=KEY   replaces all resources of a node: a JSON array of resources with "@type"
//	POST /start                listens for xDS clients
//	POST /stop                 closes the listener and all streams; resources stay
//	GET  /loads                what clients have reported (LRS), by the id of their nodes
//
// Prints a line "listening" once the admin interface can be used.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "where xDS clients connect to")
	admin := flag.String("admin", "127.0.0.1:0", "where the test connects to")
	kind := flag.String("cache", "snapshot", "snapshot, snapshot-ads, linear or mux")
	hash := flag.String("hash", "id", "what distinguishes nodes: id, cluster or a key of their metadata")
	interval := flag.Duration("load-interval", time.Second, "how often clients are asked to report load")
	flag.Parse()

	published, err := newPublished(*kind, nodeHash(*hash))
	if err != nil {
		log.Fatal(err)
	}
	xds := &xdsServer{
		address: *listen,
		server:  server.NewServer(context.Background(), published.cache(), nil),
		loads:   &loads{interval: *interval, byNode: make(map[string]*load)},
	}
	http.HandleFunc("PUT /resources", func(w http.ResponseWriter, r *http.Request) {
		resources, err := readResources(r)
		if err == nil {
			err = published.set(r.URL.Query().Get("node"), resources)
		}
		answer(w, err)
	})
	http.HandleFunc("POST /start", func(w http.ResponseWriter, _ *http.Request) { answer(w, xds.start()) })
	http.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) { xds.stop(); answer(w, nil) })
	http.HandleFunc("GET /loads", func(w http.ResponseWriter, _ *http.Request) {
		if err := xds.loads.write(w); err != nil {
			log.Print(err)
		}
	})
	listener, err := net.Listen("tcp", *admin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	log.Fatal(http.Serve(listener, nil))
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// readResources returns the resources of a request, by type URL.
func readResources(r *http.Request) (map[string][]types.Resource, error) {
	var raw []json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		return nil, err
	}
	resources := make(map[string][]types.Resource)
	for _, text := range raw {
		var packed anypb.Any
		if err := protojson.Unmarshal(text, &packed); err != nil {
			return nil, err
		}
		message, err := packed.UnmarshalNew()
		if err != nil {
			return nil, err
		}
		resources[packed.TypeUrl] = append(resources[packed.TypeUrl], message)
	}
	return resources, nil
}

// xdsServer is the side that xDS clients connect to: it comes and goes, what it serves stays.
type xdsServer struct {
	address string
	server  server.Server
	loads   *loads
	lock    sync.Mutex
	running *grpc.Server
}

func (s *xdsServer) start() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running != nil {
		return errors.New("it listens already")
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.running = grpc.NewServer(grpc.MaxConcurrentStreams(1000))
	discovery.RegisterAggregatedDiscoveryServiceServer(s.running, s.server)
	listenerservice.RegisterListenerDiscoveryServiceServer(s.running, s.server)
	routeservice.RegisterRouteDiscoveryServiceServer(s.running, s.server)
	clusterservice.RegisterClusterDiscoveryServiceServer(s.running, s.server)
	endpointservice.RegisterEndpointDiscoveryServiceServer(s.running, s.server)
	loadstats.RegisterLoadReportingServiceServer(s.running, s.loads)
	go func(running *grpc.Server) {
		if err := running.Serve(listener); err != nil {
			log.Print(err)
		}
	}(s.running)
	return nil
}

func (s *xdsServer) stop() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running != nil {
		s.running.Stop()
		s.running = nil
	}
}
