package eventstream

import (
	"context"
	"encoding/json"
	"strings"

	"payledger/domain/exactjson"
)

// messageRequest is a request for one message. Other fields of JetStream are refused.
type messageRequest struct {
	Sequence uint64 `json:"seq,omitempty"`
	Last     string `json:"last_by_subj,omitempty"`
	Next     string `json:"next_by_subj,omitempty"` // from Sequence on
}

// message answers a request for one message of the account. A message of another account counts as
// missing.
func (g *gate) message(ctx context.Context, r request) {
	var asked messageRequest
	if exactjson.UnmarshalStrict(r.body, &asked) != nil {
		g.refuse(r, 400, "the request has other fields than seq, last_by_subj and next_by_subj, or is no JSON")
		return
	}
	for _, subject := range []*string{&asked.Last, &asked.Next} {
		own, ok := narrowed(r.account, *subject)
		if *subject != "" && !ok {
			g.none(r)
			return
		}
		*subject = own
	}
	body, err := json.Marshal(asked)
	if err != nil {
		g.none(r)
		return
	}
	answer, err := readMessage(func() ([]byte, error) {
		answer, err := g.conn.RequestWithContext(ctx, userAPI+"STREAM.MSG.GET."+Name, body)
		if err != nil {
			return nil, err
		}
		return answer.Data, nil
	}, func() bool { return asked.Last+asked.Next == "" && g.within(ctx, asked.Sequence) })
	switch {
	case answer.lost:
		g.suspect("the server cannot read a message")
		g.refuse(r, 503, notThere)
		return
	case err != nil:
		g.refuse(r, 503, notThere)
		return
	case answer.found.Message != nil && !strings.HasPrefix(answer.found.Message.Subject, strings.TrimSuffix(filter(r.account), ">")):
		g.none(r)
		return
	}
	g.send(r.inbox, "", answer.text)
}

// answered is the server's answer to a request for one message.
type answered struct {
	text  []byte
	found storedAnswer // text, decoded
	lost  bool         // the server does not have, or cannot read, a message that the stream must have
}

// readMessage returns the server's answer. Before it says that a message is lost, it repeats the
// request: the message may have been published, or have left, meanwhile.
func readMessage(request func() ([]byte, error), within func() bool) (a answered, err error) {
	for range 2 {
		if a.text, err = request(); err != nil {
			return answered{}, err
		}
		if a.found, err = stored(a.text); err != nil || !a.found.missing() || !within() {
			return a, err
		}
	}
	a.lost = true
	return a, nil
}

// storedAnswer is the server's answer to a request for one message.
type storedAnswer struct {
	Message *struct {
		Subject string `json:"subject"`
	} `json:"message"`
	Error *struct {
		Code int `json:"err_code"`
	} `json:"error"`
}

func stored(answer []byte) (a storedAnswer, err error) {
	err = exactjson.Unmarshal(answer, &a)
	return a, err
}

func (a storedAnswer) missing() bool { return a.Error != nil && a.Error.Code == noMessage }

// noMessage is the server's error code for a message that it does not have, or cannot read.
const noMessage = 10037

// within reports whether the stream, which has no gap, has a message now.
func (g *gate) within(ctx context.Context, sequence uint64) bool {
	stream, err := g.js.Stream(ctx, Name)
	if err != nil {
		return false
	}
	state := stream.CachedInfo().State
	return state.FirstSeq <= sequence && sequence <= state.LastSeq
}

// none answers as the server does for a message that is not there.
func (g *gate) none(r request) {
	g.answer(r, "stream_msg_get", map[string]any{"error": map[string]any{"code": 404, "err_code": noMessage, "description": "no message found"}})
}
