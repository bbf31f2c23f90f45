package nodes

import "github.com/nats-io/nats.go"

const senderHeader = "Payledger-Node"

// Tell sends a message to the other nodes that hear. It is lost for a node that has no connection
// at this moment.
func (r *Registry) Tell(data []byte) error {
	if r == nil {
		return nil
	}
	return r.API.Conn.PublishMsg(&nats.Msg{Subject: tellSubject, Data: data, Header: nats.Header{senderHeader: {r.Self.Node}}})
}

// Hear calls take with each message that another node tells, one after the other, until Close.
func (r *Registry) Hear(take func(data []byte)) error {
	if r == nil {
		return nil
	}
	return r.hear(tellSubject, func(m *nats.Msg) {
		if m.Header.Get(senderHeader) != r.Self.Node {
			take(m.Data)
		}
	})
}

func (r *Registry) hear(subject string, take nats.MsgHandler) error {
	sub, err := r.API.Conn.Subscribe(subject, take)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs = append(r.subs, sub)
	return nil
}
