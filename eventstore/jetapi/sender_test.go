package jetapi

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestAnswersOfOthers: a message that cannot be sent does not wait for a reader of late answers,
// and leaves nothing that the next message could take for its answer.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	ns, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server is not ready")
	}
	nc, err := nats.Connect("", append(Options(), nats.InProcessServer(ns))...)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	c := &Client{Conn: nc}
	tooLarge := &nats.Msg{Subject: "echo", Data: make([]byte, nc.MaxPayload()+1)}
	for i := range 3 {
		first := c.Send(&nats.Msg{Subject: "echo", Data: []byte("first")})
		for range 2 * lateAnswers {
			if err := nc.Publish(first.prefix+"late", nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		c.Done(first)
		sent := make(chan *Reply, 1)
		go func() { sent <- c.Send(tooLarge) }()
		select {
		case r := <-sent:
			if r.Err == nil || !r.Unsent {
				t.Fatal("a message above the server's limit was sent", r.Err)
			}
			c.Done(r)
		case <-time.After(time.Minute):
			t.Fatal("a message that cannot be sent waits for a reader of late answers")
		}
		text := fmt.Sprint("next ", i)
		next := c.Send(&nats.Msg{Subject: "echo", Data: []byte(text)})
		for answered := false; !answered; {
			select {
			case m := <-next.Answers:
				if m == nil || next.Err != nil {
					t.Fatal("the error of the message before came as the answer to this one")
				}
				if answered = m.Subject == next.Subject; answered && string(m.Data) != text {
					t.Fatalf("answer %q, want %q", m.Data, text)
				}
			case <-time.After(time.Minute):
				t.Fatal("no answer")
			}
		}
		if next.Unsent {
			t.Error("a message with an answer was not sent")
		}
		c.Done(next)
	}
	nc.Close()
	if r := c.Send(&nats.Msg{Subject: "echo"}); r.Err == nil || !r.Unsent {
		t.Error("a message was sent without a connection", r.Err)
	}
}
