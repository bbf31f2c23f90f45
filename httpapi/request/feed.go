package request

import "context"

// ServerEvent is one message of a stream. One without data only moves the position from which the
// client continues after a break.
type ServerEvent struct {
	ID   uint64 // the value of Last-Event-ID after it
	Type string
	Data any // JSON; nil: none
	// Begin, if set, is called just before the first byte is written, end after the write. After an
	// error the message is left out.
	Begin func() (end func(), err error)
}

// Feed produces server-sent events until ctx ends. An error ends the stream; the client continues
// from its last event.
type Feed func(ctx context.Context, send func(ServerEvent) error) error
