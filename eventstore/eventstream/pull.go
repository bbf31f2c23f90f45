package eventstream

import (
	"bytes"
	"encoding/json"
	"strconv"
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

// pullBytes is the most bytes that one request gets. Clients have two requests at a time, and what waits for a connection must stay
// below maxPending. Every message fits. At the end of a request the server answers with the rest, and clients request it again.
const pullBytes = serverPayload

// pull returns a request for messages with its heartbeats and its bytes limited. An empty one is for a single message.
func pull(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return body
	}
	var asked pullRequest
	if batch, err := strconv.Atoi(string(body)); err == nil {
		asked.Batch = batch
	} else if err := json.Unmarshal(body, &asked); err != nil {
		return malformed
	}
	if asked.MaxBytes <= 0 || asked.MaxBytes > pullBytes {
		asked.MaxBytes = pullBytes
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
