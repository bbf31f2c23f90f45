package eventstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestAnswersOfOthers: a message that cannot be sent does not wait for a reader of late answers, and leaves nothing that the
// next message could take for its answer.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	server, err := StartServer(ServerConfig{Dir: t.TempDir(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	nc, err := server.connect(clientOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	a := acks{nc: nc}
	tooLarge := &nats.Msg{Subject: "echo", Data: make([]byte, nc.MaxPayload()+1)}
	for i := range 3 {
		first := a.send(&nats.Msg{Subject: "echo", Data: []byte("first")})
		for range 2 * lateAnswers {
			if err := nc.Publish(first.prefix+"late", nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		a.done(first)
		sent := make(chan *replies, 1)
		go func() { sent <- a.send(tooLarge) }()
		select {
		case r := <-sent:
			if r.err == nil {
				t.Fatal("a message above the server's limit was sent")
			}
			a.done(r)
		case <-time.After(10 * time.Second):
			t.Fatal("a message that cannot be sent waits for a reader of late answers")
		}
		text := fmt.Sprint("next ", i)
		next := a.send(&nats.Msg{Subject: "echo", Data: []byte(text)})
		for answered := false; !answered; {
			select {
			case m := <-next.answers:
				if m == nil || next.err != nil {
					t.Fatal("the error of the message before came as the answer to this one")
				}
				if answered = m.Subject == next.subject; answered && string(m.Data) != text {
					t.Fatalf("answer %q, want %q", m.Data, text)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("no answer")
			}
		}
		a.done(next)
	}
}
