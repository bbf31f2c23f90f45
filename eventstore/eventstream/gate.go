package eventstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gate forwards the requests of users to the stream (doc.go). It forwards a request only if it
// reads events of the user's own account, and sends all answers to the user's inbox. It has no
// state between requests.
type gate struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	limit    limits
	suspect  func(reason string)
	creating sync.Mutex // so that two concurrent requests cannot exceed the limit of consumers
}

type request struct {
	account string // of the user, set by the server
	verb    string // "CONSUMER.INFO"
	name    string // of the consumer, without the account, or ""
	inbox   string // subject of the answer in the account of the stream
	body    []byte
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// openGate opens the gate of an account, if it is not open. When the gate's connection ends, the
// gate opens another one: the server ends a connection that reads too slowly. The caller holds mu,
// or is the only user of the server.
func (s *Server) openGate(account string) error {
	if s.gates[account] != nil {
		return nil
	}
	ns := s.ns
	conn, ended, err := s.connectGate(ns, account)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.gates[account] = cancel
	s.opened.Go(func() {
		defer func() { conn.Close() }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ended:
			}
			if s.config.Lost != nil {
				s.config.Lost(account)
			}
			conn.Close()
			for conn = nil; conn == nil; conn, ended, _ = s.connectGate(ns, account) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(gatePause):
				}
			}
		}
	})
	return nil
}

const gatePause = 250 * time.Millisecond

// connectGate opens a gate on a new connection. ended is closed when the connection has ended.
func (s *Server) connectGate(ns native, account string) (conn *nats.Conn, ended <-chan struct{}, err error) {
	closed := make(chan struct{})
	if conn, err = s.connect(ns, nats.ClosedHandler(func(*nats.Conn) { close(closed) })); err != nil {
		return nil, nil, err
	}
	if err := (&gate{conn: conn, limit: s.limits, suspect: s.Suspect}).open(account); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("eventstream: %w", err)
	}
	return conn, closed, nil
}

func (g *gate) open(account string) (err error) {
	if g.js, err = jetstream.New(g.conn); err != nil {
		return err
	}
	api := apiSubject + "." + account + "."
	for _, kind := range []struct {
		subject string
		handle  nats.MsgHandler
		pending int
	}{
		{api + "CONSUMER.MSG.NEXT." + Name + ".*", g.next, gatePending},
		{api + "STREAM.>", g.control, gateControls},
		{api + "CONSUMER.*." + Name, g.control, gateControls},
		{api + "CONSUMER.*." + Name + ".>", g.control, gateControls},
		{api + "CONSUMER.DURABLE.CREATE.>", g.control, gateControls},
		{ackSubject + "." + account + ".>", g.ack, gatePending},
	} {
		sub, err := g.conn.Subscribe(kind.subject, kind.handle)
		if err == nil {
			err = sub.SetPendingLimits(kind.pending, gatePendingBytes)
		}
		if err != nil {
			return err
		}
	}
	return g.conn.Flush()
}

// The number of requests that may wait at a gate: for messages and acknowledgements, and of other
// kinds, which are handled one at a time. Further requests are dropped.
const (
	gatePending      = 4096
	gateControls     = 64
	gatePendingBytes = 1 << 20
)

// consumer returns a consumer's name in the stream. It begins with the account, so no account can
// name another one's consumers.
func (r request) consumer() string { return consumerPrefix(r.account) + r.name }

func consumerPrefix(account string) string { return account + "_" }

func filter(account string) string { return "events." + account + ".>" }

// inboxOf returns the subject in the account of the stream that leads to a user's reply subject; ""
// if that is no inbox, or too long.
func inboxOf(account, reply string) string {
	rest, ok := strings.CutPrefix(reply, userInbox)
	if !ok || !passes(rest) {
		return ""
	}
	return inboxSubject + "." + account + "." + rest
}

// maxSubject is the maximum length of a part of a subject that a user chooses. The server closes a
// connection that sends a line longer than MaxControlLine, and the gate's lines contain such parts
// twice.
const maxSubject = 256

// passes reports whether a subject of the gate may contain a part of a user's subject.
func passes(part string) bool {
	return len(part) <= maxSubject && !strings.ContainsAny(part, "*> \t\r\n") && !strings.Contains("."+part+".", "..")
}

// parse reads the request from a message. ok reports whether the request gets an answer.
func parse(m *nats.Msg) (r request, ok bool) {
	tokens := strings.SplitN(m.Subject, ".", 3)
	r = request{account: tokens[1], verb: tokens[2], body: m.Data}
	if before, after, named := strings.Cut(r.verb+".", "."+Name+"."); named {
		r.verb = before
		r.name, _, _ = strings.Cut(after, ".") // a filter may follow; the body has it, too
		r.name = strings.TrimPrefix(r.name, consumerPrefix(r.account))
	}
	r.inbox = inboxOf(r.account, m.Reply)
	return r, r.inbox != "" && validName.MatchString(r.account) && (r.name == "" || validName.MatchString(r.name))
}

func (g *gate) next(m *nats.Msg) {
	if r, ok := parse(m); ok && r.name != "" {
		g.send(userAPI+"CONSUMER.MSG.NEXT."+Name+"."+r.consumer(), r.inbox, pull(r.body))
	}
}

// ack forwards an acknowledgement for the account's own consumer.
func (g *gate) ack(m *nats.Msg) {
	tokens := strings.SplitN(m.Subject, ".", 3)
	account, rest := tokens[1], tokens[2]
	if strings.HasPrefix(rest, consumerPrefix(account)) && passes(rest) {
		body := m.Data
		if asked, next := bytes.CutPrefix(body, ackNext); next {
			body = slices.Concat(ackNext, pull(asked))
		}
		g.send(userAck+rest, inboxOf(account, m.Reply), body)
	}
}

func (g *gate) control(m *nats.Msg) {
	r, ok := parse(m)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gateTimeout)
	defer cancel()
	switch r.verb {
	case "STREAM.NAMES":
		g.answer(r, "stream_names", map[string]any{"total": 1, "offset": 0, "limit": 1, "streams": []string{Name}})
	case "STREAM.INFO":
		g.streamInfo(ctx, r)
	case "STREAM.MSG.GET":
		g.message(ctx, r)
	case "CONSUMER.INFO", "CONSUMER.DELETE":
		if r.name != "" {
			g.ask(ctx, r, userAPI+r.verb+"."+Name+"."+r.consumer(), nil)
		}
	case "CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE":
		g.create(ctx, r)
	}
}

const gateTimeout = 5 * time.Second

// streamInfo answers a request for the stream's state, limited to the account.
func (g *gate) streamInfo(ctx context.Context, r request) {
	stream, err := g.js.Stream(ctx, Name)
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(filter(r.account)))
	}
	if err != nil {
		g.refuse(r, 503, notThere)
		return
	}
	state := jetstream.StreamState{FirstSeq: info.State.FirstSeq, LastSeq: info.State.LastSeq, FirstTime: info.State.FirstTime, LastTime: info.State.LastTime}
	for _, n := range info.State.Subjects {
		state.Msgs += n
		state.NumSubjects++
	}
	shown := config(0, info.Config.MaxAge)
	shown.Subjects, shown.Replicas = []string{filter(r.account)}, 1
	g.answer(r, "stream_info", map[string]any{"config": shown, "created": info.Created, "state": state})
}

const notThere = "the stream is not there; try again later"

// ask sends the server a request, and answers the user's request with the result. The server's own
// answers to $JS.API do not pass from one account to another.
func (g *gate) ask(ctx context.Context, r request, subject string, body []byte) {
	answer, err := g.conn.RequestWithContext(ctx, subject, body)
	if err != nil {
		g.refuse(r, 503, notThere)
		return
	}
	g.send(r.inbox, "", answer.Data)
}

func (g *gate) answer(r request, kind string, fields map[string]any) {
	fields["type"] = "io.nats.jetstream.api.v1." + kind + "_response"
	text, err := json.Marshal(fields)
	if err != nil {
		return
	}
	g.send(r.inbox, "", text)
}

func (g *gate) refuse(r request, code int, problem string) {
	g.answer(r, strings.ToLower(strings.ReplaceAll(r.verb, ".", "_")), map[string]any{"error": map[string]any{"code": code, "description": problem}})
}

// send publishes a message without the user's headers.
func (g *gate) send(subject, reply string, body []byte) {
	_ = g.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: body}) // a client without an answer repeats its request
}
