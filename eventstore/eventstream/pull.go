package eventstream

import (
	"bytes"
	"encoding/json"
	"time"
)

// minInterval is the least time between two heartbeats, and between two deliveries of a message that is not acknowledged. Each takes
// work of the server, without a request of the user.
const minInterval = time.Second

// pullRequest is a request for messages. Fields of JetStream that are not here do not reach the server.
type pullRequest struct {
	Expires   time.Duration `json:"expires,omitempty"`
	Batch     int           `json:"batch,omitempty"`
	MaxBytes  int           `json:"max_bytes,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
}

// ackNext begins an acknowledgement that is also a request for messages.
var ackNext = []byte("+NXT")

// malformed is a request that the server answers with an error.
var malformed = []byte("{")

// pull returns a request for messages with its heartbeats limited. A request of another form than JSON has none.
func pull(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' {
		return body
	}
	var asked pullRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		return malformed
	}
	if asked.Heartbeat > 0 && asked.Heartbeat < minInterval {
		asked.Heartbeat = minInterval
		if asked.Expires > 0 { // the server wants it to be twice as long at least
			asked.Expires = max(asked.Expires, 2*minInterval)
		}
	}
	limited, err := json.Marshal(asked)
	if err != nil {
		return malformed
	}
	return limited
}
