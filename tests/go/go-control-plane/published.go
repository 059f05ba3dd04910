package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	// Messages that resources have inside of them: to be known is to be readable.
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// published is one of the library's caches, and the way of resources into it.
type published interface {
	cache() cache.Cache
	// set replaces all resources of a node. Caches that do not know nodes have the same for all of them.
	set(node string, resources map[string][]types.Resource) error
}

// typeURLs are the types that tests publish, in the order in which they are published.
var typeURLs = []string{resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType}

func newPublished(kind string, hash cache.NodeHash) (published, error) {
	switch kind {
	case "snapshot", "snapshot-ads":
		return &snapshots{cached: cache.NewSnapshotCache(kind == "snapshot-ads", hash, nil)}, nil
	case "linear":
		return newMuxed(nil, typeURLs), nil
	case "mux":
		// As its users do who have many endpoints that change often, and little else.
		rest := &snapshots{cached: cache.NewSnapshotCache(false, hash, nil)}
		return newMuxed(rest, []string{resource.EndpointType}), nil
	default:
		return nil, fmt.Errorf("no cache %q", kind)
	}
}

// nodeHash distinguishes nodes.
type nodeHash string

func (h nodeHash) ID(node *core.Node) string {
	switch h {
	case "id":
		return node.GetId()
	case "cluster":
		return node.GetCluster()
	default:
		return node.GetMetadata().GetFields()[string(h)].GetStringValue()
	}
}

// snapshots are one snapshot for each node, with one version for all types.
type snapshots struct {
	cached  cache.SnapshotCache
	lock    sync.Mutex
	version int
}

func (s *snapshots) cache() cache.Cache { return s.cached }

func (s *snapshots) set(node string, resources map[string][]types.Resource) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.version++
	all := make(map[string][]types.Resource)
	for _, typeURL := range typeURLs {
		all[typeURL] = resources[typeURL]
	}
	snapshot, err := cache.NewSnapshot(strconv.Itoa(s.version), all)
	if err != nil {
		return err
	}
	return s.cached.SetSnapshot(context.Background(), node, snapshot)
}

// muxed has a linear cache for some types, and snapshots for the others.
type muxed struct {
	mux    cache.MuxCache
	linear map[string]*cache.LinearCache
	rest   *snapshots
}

func newMuxed(rest *snapshots, linearTypes []string) *muxed {
	m := &muxed{linear: make(map[string]*cache.LinearCache), rest: rest}
	m.mux.Caches = make(map[string]cache.Cache)
	for _, typeURL := range typeURLs {
		if rest != nil {
			m.mux.Caches[typeURL] = rest.cached
		}
	}
	for _, typeURL := range linearTypes {
		m.linear[typeURL] = cache.NewLinearCache(typeURL)
		m.mux.Caches[typeURL] = m.linear[typeURL]
	}
	m.mux.Classify = func(request *cache.Request) string { return request.GetTypeUrl() }
	m.mux.ClassifyDelta = func(request *cache.DeltaRequest) string { return request.GetTypeUrl() }
	return m
}

func (m *muxed) cache() cache.Cache { return &m.mux }

func (m *muxed) set(node string, resources map[string][]types.Resource) error {
	for _, typeURL := range typeURLs {
		if linear, ok := m.linear[typeURL]; ok {
			linear.SetResources(cache.IndexRawResourcesByName(resources[typeURL]))
		}
	}
	if m.rest == nil {
		return nil
	}
	return m.rest.set(node, resources)
}
