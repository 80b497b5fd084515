// Package grpc carries AAEP over gRPC (appendix B.5): service aaep.v1.AaepService, one
// bidirectional stream for each subscription, one message of AAEP in each AaepMessage. The JSON in
// it decides; message_type is for proxies. It is a Go module of its own, so that those who use
// another transport do not carry gRPC along.
//
// A producer registers a Server on a grpc.Server made with Options, and hands it to Producer.Serve:
//
//	s := aaepgrpc.NewServer(aaepgrpc.ServerOptions{Authenticate: who})
//	host := grpc.NewServer(append(aaepgrpc.Options(), grpc.Creds(credentials.NewTLS(conf)))...)
//	s.Register(host)
//	go host.Serve(listener)
//	p.Serve(ctx, s)
//
// After Producer.Shutdown, host.GracefulStop lets the last words arrive; host.Stop does not. A
// subscriber uses a Dialer.
//
// The stream's end is the subscription's end, in both directions: a subscriber that closes its half
// leaves, one that cancels is a link that broke. A broken link is subscribed to anew by package
// subscriber (B.5.4); streams have no deadline.
//
// The package that protoc makes of aaep/v1/aaep.proto is public, because one program can hold a
// proto package only once.
//
// Serving, keepalive and authentication are in server.go, dialing in dialer.go, and the wrapping of
// messages in frames.go.
package grpc

//go:generate sh -c "protoc -I . --plugin=$(go tool -modfile=../../tools/go.mod -n protoc-gen-go) --plugin=$(go tool -modfile=../../tools/go.mod -n protoc-gen-go-grpc) --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative aaep/v1/aaep.proto"
