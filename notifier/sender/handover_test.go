package sender

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"payledger/notifier/delivery"
	"payledger/notifier/listener"
	"payledger/notifier/signature"
)

const lane = "acct1.endpoint1"

// handedOver is a sender with a hub, for a message to a listener.
func handedOver(timeout time.Duration) (*Sender, *listener.Hub, Message) {
	hub := &listener.Hub{Key: []byte("key")}
	m := Message{
		URL: "listener:stream", Listener: lane, Body: Fixed([]byte(`{"message":"hello"}`)), About: listener.Request{Delivery: "d"},
		Keys: []Key{{Name: "signing-secret.acct1.1", Text: "plsec_account"}, {Name: "listener.endpoint1", Text: hub.Secret(lane)}},
	}
	return New(Config{Listeners: hub, Timeout: timeout, Now: time.Now}), hub, m
}

// TestHandOver: a reader gets the signed request, and its answer is the attempt; each end without
// an answer has its class.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for want, read := range map[delivery.Failure]func(*listener.Hub, *listener.Stream, *listener.Exchange){
		"": func(h *listener.Hub, _ *listener.Stream, e *listener.Exchange) {
			_ = h.Answer(context.Background(), lane, e.ID, listener.Answer{Status: 204, Body: "plsec_account"})
		},
		delivery.FailureStatus: func(h *listener.Hub, _ *listener.Stream, e *listener.Exchange) {
			_ = h.Answer(context.Background(), lane, e.ID, listener.Answer{Status: 500})
		},
		delivery.FailureRefused: func(h *listener.Hub, _ *listener.Stream, e *listener.Exchange) {
			_ = h.Answer(context.Background(), lane, e.ID, listener.Answer{Failure: delivery.FailureRefused})
		},
		delivery.FailureConnection: func(_ *listener.Hub, s *listener.Stream, _ *listener.Exchange) { s.Close() },
		delivery.FailureTimeout:    func(*listener.Hub, *listener.Stream, *listener.Exchange) {},
		delivery.FailureUnreached:  nil,
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, hub, m := handedOver(10 * time.Second)
				if read != nil {
					stream, err := hub.Open(t.Context(), lane)
					if err != nil {
						t.Fatal(err)
					}
					go func() {
						e, err := stream.Next(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						header := map[string][]string{}
						for name, value := range e.Header {
							header[name] = []string{value}
						}
						for _, k := range m.Keys {
							if err := signature.Verify(header, []byte(e.Body), time.Now(), k.Text); err != nil || e.Header["User-Agent"] != userAgent {
								t.Errorf("%s: %v, %v", k.Name, err, e.Header)
							}
						}
						end, err := e.Begin()
						if err != nil {
							t.Error(err)
							return
						}
						end()
						read(hub, stream, e)
					}()
				}
				a, err := s.Attempt(t.Context(), m)
				if err != nil || a.Failure != want || len(a.Keys) != 2 {
					t.Errorf("%+v %v", a, err)
				}
				if want == "" && (a.StatusCode != 204 || a.Excerpt != withheld) {
					t.Errorf("%+v", a)
				}
				if want == delivery.FailureTimeout && a.Duration != (10*time.Second).Microseconds() {
					t.Errorf("it took %d µs", a.Duration)
				}
			})
		})
	}
}

// TestHandOverSettles checks that a message that is not fresh is not sent. Settle waits for a
// message whose check is over until its first byte is written, and at most firstWriteTime.
func TestHandOverSettles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, hub, m := handedOver(time.Minute)
		stream, err := hub.Open(t.Context(), lane)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		for _, stale := range []bool{true, false} {
			m.Fresh = func() error {
				if stale {
					return errStale
				}
				return nil
			}
			ended := make(chan error, 1)
			go func() { _, err := s.Attempt(t.Context(), m); ended <- err }()
			e, err := stream.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Begin()
			if stale {
				if ended := <-ended; !errors.Is(err, ErrNotSent) || !errors.Is(ended, ErrNotSent) || !errors.Is(ended, errStale) {
					t.Errorf("not fresh: %v, %v", err, ended)
				}
				s.Settle()
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			began, settled := time.Now(), atomic.Int64{}
			go func() { s.Settle(); settled.Store(int64(time.Since(began))) }()
			synctest.Wait()
			if settled.Load() != 0 {
				t.Error("settled before the first byte was written")
			}
			<-time.After(2 * firstWriteTime) // a reader that takes nothing
			if time.Duration(settled.Load()) != firstWriteTime {
				t.Errorf("settled after %s", time.Duration(settled.Load()))
			}
			stream.Close()
			<-ended
		}
	})
}
