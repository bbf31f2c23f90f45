package jetapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/due"
)

const (
	// startLimit bounds the requests for one list, or to make one stream, if the context of the
	// caller does not.
	startLimit = 30 * time.Second
	// codeNoClusterLeader is JetStream's error while the cluster has no leader.
	codeNoClusterLeader jetstream.ErrorCode = 10008
)

// errIncomplete is an answer without the streams whose leader did not answer the server that
// collects the list.
var errIncomplete = errors.New("no answer from the leader of")

// ListStreams returns the streams of the account whose subjects match a pattern; "" takes all
// streams. In a cluster the request is repeated until ctx ends: without a leader of the cluster no
// server answers, and an answer lacks the streams without a leader.
func ListStreams(ctx context.Context, js jetstream.JetStream, pattern string) ([]*jetstream.StreamInfo, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startLimit)
		defer cancel()
	}
	var last error                                                           // the newest answer of a server, if there is one
	for timeout := replicaTimeout; ; timeout = min(2*timeout, ReadTimeout) { // a server collects for 4 s
		infos, err := listOnce(ctx, js.Conn(), pattern, timeout)
		if err == nil {
			return infos, nil
		}
		if last == nil || !IsTimeout(err) {
			last = err
		}
		denied := IsTimeout(err) && errors.Is(js.Conn().LastError(), nats.ErrPermissionViolation)
		if denied || !passing(err) || js.Conn().IsClosed() || due.Rest(ctx, leaderPause, nil) != nil {
			return nil, last
		}
	}
}

// passing reports whether a later request for the same list may succeed.
func passing(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode == codeNoClusterLeader
	}
	return IsTimeout(err) || errors.Is(err, errIncomplete) ||
		errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected)
}

func listOnce(ctx context.Context, nc *nats.Conn, pattern string, timeout time.Duration) (infos []*jetstream.StreamInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := Client{Conn: nc}
	for {
		var page struct {
			Error   *jetstream.APIError     `json:"error"`
			Total   int                     `json:"total"`
			Streams []*jetstream.StreamInfo `json:"streams"`
			Missing []string                `json:"missing"`
		}
		request := map[string]any{"offset": len(infos), "subject": pattern}
		if err := c.call(ctx, "$JS.API.STREAM.LIST", request, &page); err != nil {
			return nil, err
		}
		switch {
		case page.Error != nil:
			return nil, page.Error
		case len(page.Missing) > 0:
			return nil, fmt.Errorf("%w %s", errIncomplete, strings.Join(page.Missing, ", "))
		}
		infos = append(infos, page.Streams...)
		if len(page.Streams) == 0 || len(infos) >= page.Total {
			return infos, nil
		}
	}
}
