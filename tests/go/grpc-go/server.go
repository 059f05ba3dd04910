package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
)

// serve starts a server for each name, prints their ports by name, and waits for the end of the input.
func serve(names []string) {
	ports := make(map[string]int)
	for _, name := range names {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		ports[name] = listener.Addr().(*net.TCPAddr).Port
		answer := func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return stream.SendMsg([]byte(name))
		}
		server := grpc.NewServer(grpc.UnknownServiceHandler(answer), grpc.ForceServerCodec(rawCodec{}))
		go func() { log.Fatal(server.Serve(listener)) }()
	}
	if err := json.NewEncoder(os.Stdout).Encode(ports); err != nil {
		log.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}
