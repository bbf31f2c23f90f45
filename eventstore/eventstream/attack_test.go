package eventstream_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"payledger/eventstore/eventstream"
)

// victim is another merchant's account with a durable consumer and a listener for everything that
// its users may receive.
type victim struct {
	*user
	consumer jetstream.Consumer
	listener *nats.Subscription
}

func newVictim(t testing.TB, r *rig) *victim {
	t.Helper()
	path, _ := r.credentials(t, theirs)
	v := &victim{user: r.connect(t, path)}
	var err error
	if v.consumer, err = v.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "books", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	other := r.connect(t, path) // the answers to the first connection come to its own inbox
	if v.listener, err = other.SubscribeSync("_INBOX.>"); err == nil {
		err = other.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// untouched checks that nothing reached the victim and that the stream is as it was.
func (v *victim) untouched(t testing.TB, r *rig) {
	t.Helper()
	if n, _, err := v.listener.Pending(); err != nil || n > 0 {
		m, _ := v.listener.NextMsg(time.Second)
		t.Errorf("%d messages reached the other account, the first is %+v; %v", n, m, err)
	}
	info, err := v.consumer.Info(t.Context())
	if err != nil || info.Delivered.Consumer != 0 || info.NumAckPending != 0 || info.NumPending != 10 || info.Config.FilterSubject != "events.0theirs.>" {
		t.Errorf("the other account's consumer is %+v, %v", info, err)
	}
	state, err := r.writer.State(t.Context())
	if err != nil || state != (eventstream.State{First: 1, Last: r.last, Whole: true}) {
		t.Errorf("the stream is %+v, %v", state, err)
	}
}

// barrier returns when the gate has handled every request that the user has sent before, of each
// kind.
func (u *user) barrier(t testing.TB) {
	t.Helper()
	if _, err := u.js.CreateOrUpdateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "barrier"}); err != nil {
		t.Fatal(err)
	}
	for request, body := range map[string]string{
		"$JS.API.STREAM.INFO.EVENTS": "", "$JS.API.CONSUMER.INFO.EVENTS.none": "", "$JS.API.CONSUMER.CREATE.EVENTS": "bad", "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.x": "bad",
		"$JS.API.CONSUMER.MSG.NEXT.EVENTS.barrier": `{"batch":1,"no_wait":true}`, "$JS.ACK.EVENTS.0ours_barrier.1.1.1.1.1": `+NXT {"batch":1,"no_wait":true}`,
	} {
		if _, err := u.Request(request, []byte(body), patience); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
	}
}

// TestForbiddenSubjects: a user can publish only requests, and subscribe only to its inboxes.
func TestForbiddenSubjects(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	v := newVictim(t, r)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	publish := []string{
		"events.0ours.payment.captured", "events.0theirs.payment.captured", "ledger.0.1", "deliveries.1", "foo", "_INBOX.x", "inbox.0ours.x", "inbox.0theirs.x",
		"api.0theirs.STREAM.INFO.EVENTS", "ack.0theirs.0theirs_books.1.1.1.1.1", "nobody", "$SYS.REQ.ACCOUNT.PING", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO",
		"$JS.API.INFO", "$JS.API.STREAM.CREATE.EVENTS", "$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS",
		"$JS.API.STREAM.LIST", "$JS.API.STREAM.MSG.GET.OTHER", "$JS.API.STREAM.MSG.DELETE.EVENTS", "$JS.API.STREAM.SNAPSHOT.EVENTS", "$JS.API.STREAM.RESTORE.EVENTS",
		"$JS.API.STREAM.INFO.LEDGER_0_1", "$JS.API.STREAM.PEER.REMOVE.EVENTS", "$JS.API.DIRECT.GET.EVENTS", "$JS.API.DIRECT.GET.EVENTS.events.0theirs.payment.captured",
		"$JS.API.CONSUMER.CREATE.LEDGER_0_1.x", "$JS.API.CONSUMER.LIST.EVENTS", "$JS.API.CONSUMER.NAMES.EVENTS", "$JS.API.CONSUMER.PAUSE.EVENTS.books",
		"$JS.API.CONSUMER.UNPIN.EVENTS.books", "$JS.API.CONSUMER.RESET.EVENTS.books", "$JS.API.CONSUMER.MSG.NEXT.LEDGER_0_1.x", "$JS.API.CONSUMER.LEADER.STEPDOWN.EVENTS.books",
		"$JS.API.ACCOUNT.PURGE.ANALYTICS", "$JS.API.META.LEADER.STEPDOWN", "$JS.FC.EVENTS.x", "$JS.ACK.LEDGER_0_1.x.1.1.1.1.1", "$JS.analytics.API.STREAM.DELETE.EVENTS",
	}
	for _, subject := range publish {
		if err := u.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	subscribe := []string{
		">", "*", "events.>", "events.0theirs.>", "events.0ours.>", "*.0theirs.>", "inbox.>", "inbox.0theirs.>", "api.>", "ack.>", "$JS.>", "$JS.API.>", "$JS.ACK.>", "$SYS.>",
		"_INBOX", "*.*", "_R_.>", "$JSC.>", "ledger.>", "nobody",
	}
	for _, subject := range subscribe {
		if _, err := u.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Flush(); err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{}
	for len(refused) < len(publish)+len(subscribe) {
		select {
		case err := <-u.refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("the server answers %v", err)
			}
			refused[err.Error()] = true
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d attempts were refused: %v", len(refused), len(publish)+len(subscribe), refused)
		}
	}
	u.barrier(t)
	v.untouched(t, r)
}

// attacks returns requests with which a user tries to read or change another account's data, by
// subject and body.
func attacks() [][2]string {
	create := func(name, fields string) [2]string {
		return [2]string{"$JS.API.CONSUMER.CREATE.EVENTS." + name, `{"stream_name":"EVENTS","config":{"name":"` + name + `","ack_policy":"none"` + fields + `}}`}
	}
	all := [][2]string{
		create("a", `,"filter_subject":"events.0theirs.>"`), create("a", `,"filter_subject":"events.>"`), create("a", `,"filter_subject":">"`),
		create("a", `,"filter_subject":"events.*.payment.captured"`), create("a", `,"filter_subject":"*.*.payment.captured"`), create("a", `,"filter_subject":"events.0ours"`),
		create("a", `,"filter_subjects":["events.0ours.>","events.0theirs.>"]`), create("a", `,"filter_subject":"","filter_subjects":["events.0theirs.>"]`),
		create("a", `,"FILTER_SUBJECT":"events.0theirs.>"`), create("a", `,"filter_subject":"events.0ours.>","filter_subject":"events.0theirs.>"`),
		create("a", `},"config":{"name":"a","filter_subject":"events.0theirs.>"`), create("a", `},"Config":{"name":"a","filter_subject":"events.0theirs.>"`),
		{"$JS.API.CONSUMER.CREATE.EVENTS.a.events.0theirs.>", `{"stream_name":"EVENTS","config":{"name":"a","filter_subject":"events.0theirs.>"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS.a.events.0theirs.>", `{"stream_name":"EVENTS","config":{"name":"a"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS.a", `{"stream_name":"LEDGER_0_1","config":{"name":"a"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS.a", `{"stream_name":"EVENTS","config":{"name":"0theirs_books","filter_subject":"events.0ours.>"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS.a", `{"stream_name":"EVENTS","config":{"name":"a","durable_name":"0theirs_books"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS", `{"stream_name":"EVENTS","config":{"filter_subject":"events.0theirs.>"}}`},
		{"$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.a", `{"stream_name":"EVENTS","config":{"durable_name":"0theirs_books"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS.0theirs_books", `{"stream_name":"EVENTS","config":{"name":"books","durable_name":"0theirs_books"}}`},
		{"$JS.API.CONSUMER.CREATE.EVENTS.a", `not json`}, {"$JS.API.CONSUMER.CREATE.EVENTS.a", ``}, {"$JS.API.CONSUMER.CREATE.EVENTS.a", `[]`}, {"$JS.API.CONSUMER.CREATE.EVENTS.a", `{}`},
		{"$JS.API.STREAM.INFO.EVENTS", `{"subjects_filter":"events.0theirs.>","deleted_details":true}`}, {"$JS.API.STREAM.NAMES", `{"subject":"ledger.>"}`},
		{"$JS.ACK.EVENTS.0theirs_books.1.2.1.1795419536514140947.9", "+ACK"}, {"$JS.ACK.EVENTS.0theirs_books.1.2.1.1795419536514140947.9", `+NXT {"batch":100}`},
		{"$JS.ACK.EVENTS.0theirs_books.1.2.1.1795419536514140947.9", "-NAK"}, {"$JS.ACK.EVENTS.0theirs_books.1.2.1.1795419536514140947.9", "+TERM"},
	}
	for _, name := range []string{"books", "0theirs_books", "*", ">", "0theirs_>", "0theirs_*", "0ours_0theirs_books"} {
		for _, verb := range []string{"INFO", "DELETE", "MSG.NEXT"} {
			all = append(all, [2]string{"$JS.API.CONSUMER." + verb + ".EVENTS." + name, `{"batch":100,"no_wait":true}`})
		}
		all = append(all, create(name, ""), create(name, `,"filter_subject":"events.0theirs.>"`))
	}
	for _, to := range append(targets(), "_INBOX.mine", "foo") {
		all = append(all, create("p", `,"deliver_subject":"`+to+`"`), create("p", `,"headers_only":true,"idle_heartbeat":100000000,"flow_control":true,"deliver_subject":"`+to+`"`),
			create("p", `,"DELIVER_SUBJECT":"`+to+`"`), create("p", `,"Deliver_subject":"`+to+`","deliver_group":"g"`))
	}
	return all
}

// targets returns the subjects at which a message of the server could do harm.
func targets() []string {
	return []string{
		"$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "events.0theirs.forged", "events.0ours.forged", "inbox.0theirs.x", "_INBOX.0theirs.x",
		"api.0theirs.CONSUMER.DELETE.EVENTS.books", "ack.0theirs.0theirs_books.1.2.1.1.1", "$JS.API.CONSUMER.DELETE.EVENTS.0theirs_books", "$SYS.REQ.SERVER.PING", "_R_.x",
		"$JS.API.CONSUMER.MSG.NEXT.EVENTS.0theirs_books",
	}
}

// TestForbiddenRequests: no request that a user may send reads another account's events, reaches
// its consumers, or makes the server publish to a subject of the user's choice. Each request is
// sent with inboxes, and with every subject that could do harm, as the reply subject.
func TestForbiddenRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	v := newVictim(t, r)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	all, err := u.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "mine", HeadersOnly: true}); err != nil {
		t.Fatal(err)
	}
	push, err := u.Request("$JS.API.CONSUMER.CREATE.EVENTS.push", []byte(`{"stream_name":"EVENTS","config":{"name":"push","deliver_subject":"_INBOX.x"}}`), patience)
	if err != nil || !strings.Contains(string(push.Data), "push consumers are not supported") {
		t.Errorf("a push consumer: %+v, %v", push, err)
	}
	own := [][2]string{
		{"$JS.API.CONSUMER.MSG.NEXT.EVENTS.mine", `{"batch":1,"no_wait":true}`}, {"$JS.API.CONSUMER.MSG.NEXT.EVENTS.mine", `{"batch":100000}`}, {"$JS.API.CONSUMER.MSG.NEXT.EVENTS.mine", `bad`},
		{"$JS.API.CONSUMER.INFO.EVENTS.mine", ""}, {"$JS.API.CONSUMER.INFO.EVENTS.none", ""}, {"$JS.API.STREAM.INFO.EVENTS", ""}, {"$JS.API.STREAM.NAMES", ""},
		{"$JS.ACK.EVENTS.0ours_mine.1.1.1.1.1", "+NXT"},
	}
	for n, attack := range append(attacks(), own...) {
		for _, reply := range append(targets(), fmt.Sprintf("_INBOX.%d", n), fmt.Sprintf("_INBOX.%d.>", n), "_INBOX.*.x", "_INBOX.", "_INBOX") {
			m := &nats.Msg{Subject: attack[0], Reply: reply, Data: []byte(attack[1])}
			if n%2 == 1 {
				m.Header = nats.Header{"Nats-Request-Info": {`{"acc":"SYSTEM"}`}, "Nats-Rollup": {"all"}}
			}
			_ = u.PublishMsg(m) // the library refuses some subjects itself
		}
		if n%2 == 1 { // a gate drops requests beyond 64
			u.barrier(t)
		}
	}
	u.barrier(t)
	for {
		if n, _, err := all.Pending(); err != nil || n == 0 {
			break
		}
		m, err := all.NextMsg(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(m.Data); strings.Contains(text, "0theirs_") || strings.Contains(text, `"accountId":"0theirs"`) || strings.Contains(m.Subject, "events.0theirs") {
			if !strings.Contains(text, `"error"`) && !strings.Contains(text, `"filter_subject":"events.0ours.`) {
				t.Errorf("the user receives %s %s", m.Subject, text)
			}
		}
	}
	v.untouched(t, r)
	if got, subjects := read(t, v.consumer, 10); fmt.Sprint(got) != "[2 4 6 8 10 12 14 16 18 20]" {
		t.Errorf("the other account reads %v %v", got, subjects)
	}
}

// TestForbiddenUsers: only the service's own credentials, of registered users, open a connection.
func TestForbiddenUsers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	good, user := r.credentials(t, ours)
	r.connect(t, good)
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := jwt.ParseDecoratedUserNKey(text)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(by nkeys.KeyPair, err error, change func(*jwt.UserClaims)) string {
		if err != nil {
			t.Fatal(err)
		}
		changed := *claims
		change(&changed)
		token, err := changed.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	account, failed := nkeys.CreateAccount()
	parts := strings.Split(token, ".")
	unknown, _, err := r.Credentials(ours, "unrecorded")
	if err != nil {
		t.Fatal(err)
	}
	unknownPath := filepath.Join(t.TempDir(), "unknown.creds")
	if err := os.WriteFile(unknownPath, unknown, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]nats.Option{
		"nothing":           nats.Name("nobody"),
		"a password":        nats.UserInfo("payledger", "payledger"),
		"a token":           nats.Token("x"),
		"a key alone":       nats.Nkey(user.Key, pair.Sign),
		"another's seed":    nats.UserJWTAndSeed(token, string(must(must(nkeys.CreateUser()).Seed()))),
		"a changed token":   nats.UserJWTAndSeed(parts[0]+"."+parts[1][:len(parts[1])-4]+"AAAA."+parts[2], string(seed)),
		"its own signature": nats.UserJWTAndSeed(signed(account, failed, func(c *jwt.UserClaims) { c.Pub.Allow.Add(">") }), string(seed)),
		"never recorded":    nats.UserCredentials(unknownPath),
	} {
		conn, err := nats.Connect(r.URL(), option, nats.NoReconnect(), patient)
		if err == nil {
			conn.Close()
			t.Errorf("%s opens a connection", name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestReplacedUser: a user that SetUsers no longer lists is disconnected and cannot connect again;
// the other users stay.
func TestReplacedUser(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	first, one := r.credentials(t, ours)
	second, other := r.credentials(t, ours, one)
	out, stays := r.connect(t, first), r.connect(t, second)
	gone := make(chan struct{})
	out.SetClosedHandler(func(*nats.Conn) { close(gone) })
	if err := r.SetUsers(map[string][]eventstream.User{ours: {other}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the former user is still connected")
	}
	if conn, err := nats.Connect(r.URL(), nats.UserCredentials(first), nats.NoReconnect(), patient); err == nil {
		conn.Close()
		t.Error("the former user connects again")
	}
	stays.barrier(t)
	if err := r.Restart(); err != nil {
		t.Fatal(err)
	}
	if conn, err := nats.Connect(r.URL(), nats.UserCredentials(second), nats.NoReconnect(), patient); err == nil {
		conn.Close()
		t.Error("a client connects before the stream is checked")
	}
	r.Admit()
	r.connect(t, second).barrier(t)
}
