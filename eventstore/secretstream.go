package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The stream of secrets stands beside the log, because what is in it can be destroyed: no DenyDelete, no
// server-side encryption (both defeat secure delete), synced like the log. Package secrets encrypts what
// goes in; this file only stores bytes.
const (
	secretStream = "SECRETS"
	secretRoot   = "secrets"
)

// SecretBytes stores encrypted values by name; a name is dot-joined tokens.
type SecretBytes struct{ s *Store }

// OpenSecrets finds or makes the stream.
func (s *Store) OpenSecrets(ctx context.Context) (*SecretBytes, error) {
	_, err := s.js.Stream(ctx, secretStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && !s.readOnly {
		_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: secretStream, Subjects: []string{secretRoot + ".>"}, Storage: jetstream.FileStorage,
			Replicas: s.replicas, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
			MaxMsgsPerSubject: 1, AllowDirect: true, Compression: jetstream.NoCompression,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", secretStream, err)
	}
	return &SecretBytes{s}, nil
}

// Create stores a value under a name that must be new; ErrConflict when it is there. A lost answer is
// resolved by comparing what stands there.
func (b *SecretBytes) Create(ctx context.Context, name string, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	if err := b.s.room(); err != nil {
		return err
	}
	end := b.s.sideBegin(secretStream)
	for {
		m := nats.NewMsg(secretRoot + "." + name)
		m.Data = value
		m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
		seq, err := b.publish(ctx, m)
		if err == nil {
			b.s.witnessedRecord(secretStream, seq, name, value)
			end()
			return nil
		}
		there, getErr := b.Get(ctx, name)
		switch {
		case getErr == nil && string(there) == string(value):
			if getErr = b.found(ctx, name, value, end); getErr == nil {
				return nil
			}
			err = errors.Join(err, getErr)
		case getErr == nil:
			end()
			return ErrConflict
		case errors.Is(getErr, ErrUnhealthy):
			return getErr
		case !errors.Is(getErr, ErrNotFound):
			err = errors.Join(err, getErr)
		}
		if pauseErr := b.s.pause(ctx, resolvePause); pauseErr != nil {
			kind, _, _ := strings.Cut(name, ".") // the rest may name a session
			return fmt.Errorf("%w: secret of kind %s: %w", ErrRefused, kind, err)
		}
	}
}

// publish sends a message once; only a PubAck is success.
func (b *SecretBytes) publish(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	answer, err := b.s.nc.RequestMsgWithContext(ctx, m)
	b.s.answered(secretStream, err)
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	if err == nil {
		err = json.Unmarshal(answer.Data, &ack)
	}
	switch {
	case err != nil:
		return 0, err
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Seq == 0:
		return 0, errors.New("answer to a publish names no sequence")
	}
	return ack.Seq, nil
}

// secretFence names a value that nobody reads: its PubAck says that all before it are on disk.
const secretFence = "fence"

// found enters a value that stands there although no answer said so, once it is durable: a server whose disk failed shows what
// it does not keep.
func (b *SecretBytes) found(ctx context.Context, name string, value []byte, end func()) error {
	if b.s.replicas == 1 {
		seq, err := b.publish(ctx, nats.NewMsg(secretRoot+"."+secretFence))
		if err != nil {
			return err
		}
		b.s.witnessedNewest(secretStream, seq, secretFence, nil)
	}
	if !b.s.indexed() {
		return nil
	}
	there, err := b.atLeader(ctx, name)
	if err != nil {
		return err
	}
	b.s.witnessedRecord(secretStream, there.Seq, name, value)
	end()
	return nil
}

// Get reads a value; ErrNotFound when it was never stored, or was destroyed. A value that is gone otherwise is damage.
func (b *SecretBytes) Get(ctx context.Context, name string) ([]byte, error) {
	must := b.s.must(secretStream, name)
	value, err := b.direct(ctx, name)
	if errors.Is(err, ErrNotFound) {
		err = b.s.missing(secretStream, name, must)
	}
	if err != nil && b.s.replicas > 1 { // a replica may be behind, or gone
		there, err := b.atLeader(ctx, name)
		return there.Data, err
	}
	return value, err
}

func (b *SecretBytes) direct(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.s.directTimeout())
	defer cancel()
	m, err := b.s.reader(b.s.readers.secrets()).RequestWithContext(ctx, "$JS.API.DIRECT.GET."+secretStream+"."+secretRoot+"."+name, nil)
	if err != nil {
		return nil, fmt.Errorf("eventstore: secret: %w", err)
	}
	switch status := m.Header.Get("Status"); status {
	case "":
		return m.Data, nil
	case "404":
		return nil, ErrNotFound
	default:
		return nil, fmt.Errorf("eventstore: secret: status %s", status)
	}
}

func (b *SecretBytes) atLeader(ctx context.Context, name string) (storedMessage, error) {
	return b.s.messageAtLeader(ctx, "$JS.API.STREAM.MSG.GET."+secretStream, getRequest{LastBySubject: secretRoot + "." + name})
}

// Destroy overwrites a value on the disk and forgets it. What is not there is destroyed already. An error
// leaves open whether it was: it is safe to repeat.
func (b *SecretBytes) Destroy(ctx context.Context, name string) error {
	must := b.s.must(secretStream, name)
	there, err := b.atLeader(ctx, name)
	if errors.Is(err, ErrNotFound) {
		if err = b.s.missing(secretStream, name, must); errors.Is(err, ErrNotFound) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if err := b.s.room(); err != nil {
		return err
	}
	dying := map[string]uint64{name: there.Seq}
	if err := b.s.sideDying(secretStream, dying); err != nil {
		return err
	}
	stream, err := b.s.js.Stream(ctx, secretStream)
	if err != nil {
		return fmt.Errorf("eventstore: secret: %w", err)
	}
	if err := stream.SecureDeleteMsg(ctx, there.Seq); err != nil {
		if _, readErr := b.atLeader(ctx, name); errors.Is(readErr, ErrNotFound) {
			return b.s.sideGone(dying) // somebody else destroyed it, or we did and the answer was lost
		}
		return fmt.Errorf("eventstore: destroy secret: %w", err)
	}
	return b.s.sideGone(dying)
}

// Names lists the names under a prefix.
func (b *SecretBytes) Names(ctx context.Context, prefix string) ([]string, error) {
	all, err := b.s.sideNames(namePrefix, secretStream, prefix+".")
	if err != nil {
		return nil, fmt.Errorf("eventstore: secrets: %w", err)
	}
	stream, err := b.s.js.Stream(ctx, secretStream)
	if err != nil {
		return nil, fmt.Errorf("eventstore: secrets: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(secretRoot+"."+prefix+".>"))
	if err != nil {
		return nil, fmt.Errorf("eventstore: secrets: %w", err)
	}
	var names []string
	for subject := range info.State.Subjects {
		name := strings.TrimPrefix(subject, secretRoot+".")
		names = append(names, name)
		delete(all, name)
	}
	for name, seq := range all {
		if err := b.s.missing(secretStream, name, sideEntry{seq: seq}); !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return names, nil
}

// Purge forgets all values under a prefix. Their bytes may stay on the disk: only what is encrypted under a
// destroyed key is purged.
func (b *SecretBytes) Purge(ctx context.Context, prefix string) error {
	stream, err := b.s.js.Stream(ctx, secretStream)
	if err != nil {
		return fmt.Errorf("eventstore: secrets: %w", err)
	}
	if err := b.s.room(); err != nil {
		return err
	}
	dying, err := b.s.sideNames(namePrefix, secretStream, prefix+".")
	if err == nil {
		err = b.s.sideDying(secretStream, dying)
	}
	if err != nil {
		return err
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(secretRoot+"."+prefix+".>")); err != nil {
		return fmt.Errorf("eventstore: purge secrets: %w", err)
	}
	return b.s.sideGone(dying)
}
