// gRPC-Go as tests use it: a client that finds its servers by xDS, and the servers.
//
//	grpc-go call RATE TARGET...   makes so many RPCs a second to the first target, a tenth of that to each other one
//	grpc-go count COUNT PACE TARGET   makes so many RPCs, one after another at this pace, and stays
//	grpc-go serve NAME...         answers every RPC with the name of the server that was called
//
// Both print lines of JSON, and end when their standard input does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/xds"
	"google.golang.org/grpc/xds/csds"
	"google.golang.org/protobuf/proto"
)

const (
	method   = "/weir.test.Echo/Name"
	deadline = 10 * time.Second
)

// rawCodec has messages as they are: a name is its bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(message any) ([]byte, error) { return message.([]byte), nil }

func (rawCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func main() {
	switch os.Args[1] {
	case "call":
		rate, err := strconv.Atoi(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		call(rate, os.Args[3:])
	case "count":
		count, err := strconv.Atoi(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		pace, err := time.ParseDuration(os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		callSoOften(count, pace, os.Args[4])
	case "serve":
		serve(os.Args[2:])
	}
}

// line is one line of the output.
type line struct {
	Target string `json:"target,omitempty"`
	Ok     string `json:"ok,omitempty"`
	Error  string `json:"error,omitempty"`
	Dump   []byte `json:"dump,omitempty"`
}

// lines writes whole lines, from wherever.
type lines struct {
	lock    sync.Mutex
	encoder *json.Encoder
}

func (l *lines) write(value any) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if err := l.encoder.Encode(value); err != nil {
		log.Fatal(err)
	}
}

func call(rate int, targets []string) {
	out := &lines{encoder: json.NewEncoder(os.Stdout)}
	for i, target := range targets {
		channel, err := grpc.NewClient("xds:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			log.Fatal(err)
		}
		if i == 1 {
			rate = max(rate/10, 1)
		}
		go callAtRate(channel, target, rate, out)
	}
	config, err := csds.NewClientStatusDiscoveryServer()
	if err != nil {
		log.Fatal(err)
	}
	// Each line of the input asks for the configuration that the client has.
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		response, err := config.FetchClientStatus(context.Background(), &statusv3.ClientStatusRequest{})
		if err != nil {
			log.Fatal(err)
		}
		dump, err := proto.Marshal(response)
		if err != nil {
			log.Fatal(err)
		}
		out.write(line{Dump: dump})
	}
}

// callSoOften makes RPCs one after another, and ends with the input.
func callSoOften(count int, pace time.Duration, target string) {
	out := &lines{encoder: json.NewEncoder(os.Stdout)}
	channel, err := grpc.NewClient("xds:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		ticks := time.Tick(pace)
		for range count {
			<-ticks
			out.write(invoke(channel, target))
		}
	}()
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
	}
}

// invoke makes one RPC.
func invoke(channel *grpc.ClientConn, target string) line {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	var name []byte
	if err := channel.Invoke(ctx, method, []byte{}, &name, grpc.ForceCodec(rawCodec{})); err != nil {
		return line{Target: target, Error: err.Error()}
	}
	return line{Target: target, Ok: string(name)}
}

// callAtRate does not wait for answers: a call that takes long holds up no other.
func callAtRate(channel *grpc.ClientConn, target string, rate int, out *lines) {
	for range time.Tick(time.Second / time.Duration(rate)) {
		go func() { out.write(invoke(channel, target)) }()
	}
}
