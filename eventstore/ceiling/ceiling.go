package ceiling

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/embedded"
	"payledger/eventstore/jetapi"
)

// Rate is the result of a measurement.
type Rate struct {
	PerSecond float64
	Median    time.Duration // of one
}

func rate(took []time.Duration, all time.Duration) Rate {
	slices.Sort(took)
	return Rate{PerSecond: float64(len(took)) / all.Seconds(), Median: took[len(took)/2]}
}

// Fsyncs appends n blocks of the given size to a new file in the folder, and syncs the file after
// each.
func Fsyncs(dir string, n, size int) (r Rate, err error) {
	f, err := os.CreateTemp(dir, "fsync-*")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block, took := make([]byte, size), make([]time.Duration, n)
	start := time.Now()
	for i := range took {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return r, err
		}
		if err := f.Sync(); err != nil {
			return r, err
		}
		took[i] = time.Since(began)
	}
	return rate(took, time.Since(start)), nil
}

// Server is an embedded server with plain streams, configured like the log's.
type Server struct {
	server  *embedded.Server
	clients []*jetapi.Client
	streams int
	sent    int
}

// Open starts a server in a folder, with a number of streams and of writers, each with a connection
// of its own. One stream gives JetStream's own durable rate. As many streams as the log has shards
// show the gain by sharding.
func Open(ctx context.Context, dir string, streams, writers int) (s *Server, err error) {
	s = &Server{streams: streams}
	if s.server, err = embedded.Start(embedded.Config{Dir: filepath.Join(dir, "ceiling")}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for range writers {
		nc, err := s.server.Connect()
		if err != nil {
			return s, err
		}
		s.clients = append(s.clients, &jetapi.Client{Conn: nc})
	}
	js, err := jetstream.New(s.clients[0].Conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		return s, err
	}
	for i := range streams {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "CEILING_" + strconv.Itoa(i), Subjects: []string{"ceiling." + strconv.Itoa(i) + ".*"}, Storage: jetstream.FileStorage,
			Discard: jetstream.DiscardNew, Duplicates: 100 * time.Millisecond, AllowDirect: true, DenyDelete: true, DenyPurge: true,
		})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Publishes publishes n plain messages of the given size. Each writer waits for its acknowledgement
// before the next.
func (s *Server) Publishes(ctx context.Context, n, size int) (Rate, error) {
	body, took, failed := make([]byte, size), make([]time.Duration, n), make([]error, len(s.clients))
	first := s.sent
	s.sent += n
	start := time.Now()
	var running sync.WaitGroup
	for w, client := range s.clients {
		running.Go(func() {
			for i := w; i < n && failed[w] == nil; i += len(s.clients) {
				m := nats.NewMsg("ceiling." + strconv.Itoa(i%s.streams) + "." + strconv.Itoa(first+i))
				m.Data = body
				m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
				began := time.Now()
				ack, err := client.Publish(ctx, m)
				if took[i] = time.Since(began); err == nil && ack.Seq == 0 {
					err = fmt.Errorf("the answer to a publish has no sequence: %+v", ack)
				}
				failed[w] = err
			}
		})
	}
	running.Wait()
	return rate(took, time.Since(start)), errors.Join(failed...)
}

// Close stops the server.
func (s *Server) Close() error {
	for _, client := range s.clients {
		client.Conn.Close()
	}
	return s.server.Close()
}
