package eventstream

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"payledger/domain/exactjson"
)

// minInterval is the minimum time between two heartbeats, and between two deliveries of a message
// that is not acknowledged. Both load the server without a request of the user.
const minInterval = time.Second

// pullRequest is a request for messages. Fields of JetStream that are not here do not reach the
// server.
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

// pullBytes is the maximum number of bytes for one request. Clients have two requests at a time,
// and the bytes that wait for a connection must stay below maxPending. Every message fits. The
// server's last answer to a request contains the unused rest of the request, and clients request
// the rest again.
const pullBytes = serverPayload

// pull returns a request for messages with limited bytes and a limited heartbeat interval. An empty
// request is for one message.
func pull(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return body
	}
	var asked pullRequest
	if batch, err := strconv.Atoi(string(body)); err == nil {
		asked.Batch = batch
	} else if err := exactjson.Unmarshal(body, &asked); err != nil {
		return malformed
	}
	if asked.MaxBytes <= 0 || asked.MaxBytes > pullBytes {
		asked.MaxBytes = pullBytes
	}
	if asked.Heartbeat > 0 && asked.Heartbeat < minInterval {
		asked.Heartbeat = minInterval
		if asked.Expires > 0 { // the server requires at least twice the heartbeat
			asked.Expires = max(asked.Expires, 2*minInterval)
		}
	}
	limited, err := json.Marshal(asked)
	if err != nil {
		return malformed
	}
	return limited
}
