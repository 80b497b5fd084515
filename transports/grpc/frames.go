package grpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

const (
	writeTimeout = 10 * time.Second              // of one message
	closeTimeout = time.Second                   // for the peer's end of the stream
	maxTypeBytes = 256                           // bytes of a message_type of ours
	maxFrame     = transports.MaxMessage + 4<<10 // bytes of an AaepMessage
)

var errNotText = errors.New("grpc: the peer sent a message that is not UTF-8")

// packMessage wraps a message for the wire.
func packMessage(msg []byte) *aaepv1.AaepMessage {
	return &aaepv1.AaepMessage{Json: msg, MessageType: typeOf(msg)}
}

// typeOf returns the value of "type" in the JSON object msg, or "" where msg is none or the value
// is not a string of at most maxTypeBytes.
func typeOf(msg []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(msg))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		if name.String() != "type" {
			if d.SkipValue() != nil {
				return ""
			}
			continue
		}
		if t, err := d.ReadToken(); err == nil && t.Kind() == '"' {
			if s := t.String(); len(s) <= maxTypeBytes {
				return s
			}
		}
		return ""
	}
}

// unpackMessage returns the message in m, or transports.ErrTooLarge or errNotText. What
// message_type says changes nothing (GRPC-002).
func unpackMessage(m *aaepv1.AaepMessage) ([]byte, error) {
	switch {
	case len(m.Json) > transports.MaxMessage:
		return nil, transports.ErrTooLarge
	case !utf8.Valid(m.Json):
		return nil, errNotText
	}
	return m.Json, nil
}

// servedStream is the producer's end of a stream. It lasts until the handler returns status.
type servedStream struct {
	stream rpc.BidiStreamingServer[aaepv1.AaepMessage, aaepv1.AaepMessage]
	// violations returns the Reporter of the newest Accept.
	violations func() violation.Reporter
	once       sync.Once
	ended      chan struct{} // closed when status is set
	status     error
	// withdrawn is set before endStream is called because the credentials were withdrawn.
	withdrawn atomic.Pointer[aaep.Rejection]
}

// endStream has the handler return with status, which ends a Send and a Recv that are under way.
func (f *servedStream) endStream(status error) {
	f.once.Do(func() {
		f.status = status
		close(f.ended)
	})
}

// Read returns the next message. If the peer sends what is no message, it ends the stream with the
// status that says so. After the credentials were withdrawn, the error says why.
func (f *servedStream) Read() ([]byte, error) {
	m, err := f.stream.Recv()
	var msg []byte
	withdrawal := f.withdrawn.Load()
	switch {
	case err != nil && withdrawal != nil:
		err = withdrawal
	case err == nil:
		msg, err = unpackMessage(m)
		reportMismatch(f.violations(), m)
	case status.Code(err) == codes.ResourceExhausted:
		err = transports.ErrTooLarge
	}
	switch err {
	case transports.ErrTooLarge:
		f.endStream(status.Error(codes.ResourceExhausted, "a message has at most 1 MiB"))
	case errNotText:
		f.endStream(status.Error(codes.InvalidArgument, "a message is JSON in UTF-8"))
	}
	return msg, err
}

// Write sends one message. A peer that takes nothing for writeTimeout ends the stream.
func (f *servedStream) Write(msg []byte) error {
	t := time.AfterFunc(writeTimeout, func() {
		f.endStream(status.Error(codes.DeadlineExceeded, "no message was taken for too long"))
	})
	defer t.Stop()
	return f.stream.Send(packMessage(msg))
}

// Close ends the stream with OK, behind what was written.
func (f *servedStream) Close() error {
	f.endStream(nil)
	return nil
}

// dialedStream is the subscriber's end of a stream, and the connection under it.
type dialedStream struct {
	stream     rpc.BidiStreamingClient[aaepv1.AaepMessage, aaepv1.AaepMessage]
	conn       *rpc.ClientConn
	cancel     func()
	violations violation.Reporter
	writing    sync.Mutex    // the stream's half is not closed during a Send
	ended      chan struct{} // closed when endCause is set, by Read
	endCause   error
}

// Read returns the next message. The error, after which it is not called again, is an
// *aaep.Rejection where the producer wants other credentials.
func (f *dialedStream) Read() ([]byte, error) {
	m, err := f.stream.Recv()
	var msg []byte
	if err == nil {
		msg, err = unpackMessage(m)
		reportMismatch(f.violations, m)
	}
	if err != nil {
		f.endCause = refusalError(err)
		close(f.ended)
	}
	return msg, f.endCause
}

// reportMismatch reports a message whose json is no message, or whose message_type names another
// type than its json. A nil reporter discards.
func reportMismatch(reporter violation.Reporter, m *aaepv1.AaepMessage) {
	if reporter == nil {
		return
	}
	switch typ := typeOf(m.Json); {
	case !utf8.Valid(m.Json):
		reporter.Report("GRPC-002", "the field json is no text in UTF-8")
	case len(m.Json) == 0:
		reporter.Report("GRPC-002", "the field json, which is the message, is empty")
	case m.MessageType != "" && typ != "" && m.MessageType != typ:
		reporter.Report("GRPC-002",
			fmt.Sprintf("message_type is %s, and the type of the message in json is %s", aaep.SafeText(m.MessageType),
				aaep.SafeText(typ)))
	}
}

// refusalError returns the *aaep.Rejection that the status of err stands for, if it refuses the
// peer's credentials, as package subscriber understands it; or err itself.
func refusalError(err error) error {
	code := aaep.AuthenticationRequired
	switch status.Code(err) {
	case codes.Unauthenticated:
	case codes.PermissionDenied:
		code = aaep.AuthorizationDenied
	default:
		return err
	}
	return &aaep.Rejection{Code: code, Message: status.Convert(err).Message(), Remote: true}
}

// Write sends one message. A peer that takes nothing for writeTimeout ends the stream. After the
// stream's end, the error says why it ended.
func (f *dialedStream) Write(msg []byte) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	t := time.AfterFunc(writeTimeout, f.cancel)
	defer t.Stop()
	err := f.stream.Send(packMessage(msg))
	if err == io.EOF {
		// It says only that the stream has ended. Read learns why, unless an earlier message that
		// is not taken holds it up.
		timeout := time.NewTimer(closeTimeout)
		defer timeout.Stop()
		select {
		case <-f.ended:
			err = f.endCause
		case <-timeout.C:
		}
	}
	return err
}

// Close ends this half of the stream, so that what was written arrives, waits at most closeTimeout
// for the producer's half to end, and closes the connection.
func (f *dialedStream) Close() error {
	t := time.AfterFunc(closeTimeout, f.cancel)
	defer t.Stop()
	f.writing.Lock()
	f.stream.CloseSend()
	f.writing.Unlock()
	<-f.ended // Read goes on until then
	f.cancel()
	return f.conn.Close()
}
