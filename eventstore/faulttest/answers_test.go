package faulttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"crypto/rand"

	notepkg "golang.org/x/mod/sumdb/note"

	"payledger/eventstore"
	"payledger/eventstore/position"
)

func newSigner() (notepkg.Signer, error) {
	private, _, err := notepkg.GenerateKey(rand.Reader, "payledger")
	if err != nil {
		return nil, err
	}
	return notepkg.NewSigner(private)
}

// answers are digests of all that a log returns, by question.
type answers map[string]string

func (a answers) note(question string, answer any) error {
	text, err := json.Marshal(answer)
	sum := sha256.Sum256(text)
	a[question] = hex.EncodeToString(sum[:8])
	return err
}

// differ returns a question that was answered otherwise, or "".
func (a answers) differ(b answers) string {
	var all []string
	for question := range a {
		if a[question] != b[question] {
			all = append(all, question)
		}
	}
	for question := range b {
		if _, asked := a[question]; !asked {
			all = append(all, question)
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (and %d others)", all[0], len(all)-1)
}

const absent = "there is none"

// ask makes every read. After an error it continues, and returns the first error.
func (o *open) ask(ctx context.Context, b *books) (answers, error) {
	a := answers{}
	errs := []error{
		o.askLog(ctx, b, a), o.askCheckpoints(ctx, a), o.askSecrets(ctx, b, a), o.askDeliveries(ctx, b, a), o.askPositions(ctx, b, a),
	}
	return a, errors.Join(errs...)
}

// put notes an answer, or that there is none.
func (a answers) put(question string, answer any, err error) error {
	if errors.Is(err, eventstore.ErrNotFound) {
		return a.note(question, absent)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", question, err)
	}
	return a.note(question, answer)
}

func (o *open) askLog(ctx context.Context, b *books, a answers) error {
	var errs []error
	for _, key := range b.keys {
		events, err := o.store.History(ctx, key)
		for _, e := range events {
			errs = append(errs, a.put(fmt.Sprintf("event %s %d", key.ID, e.Revision), []any{e.Shard, e.Seq, e.Number, e.Hash, e.Body}, nil))
		}
		errs = append(errs, a.put("history "+key.ID, len(events), err))
	}
	return errors.Join(errs...)
}

// askCheckpoints leaves out copies, which a start makes: they cover nothing.
func (o *open) askCheckpoints(ctx context.Context, a answers) error {
	last, err := o.store.Checkpoints().Last(ctx)
	if err != nil {
		return a.put("last checkpoint", nil, err)
	}
	number := last.Number
	last.Number = 0
	errs := []error{a.put("last checkpoint", last, nil)}
	size := uint64(0)
	for n := uint64(1); n <= number; n++ {
		c, err := o.store.Checkpoints().At(ctx, n)
		if err == nil && c.Size == size {
			continue
		}
		size = c.Size
		errs = append(errs, a.put(fmt.Sprintf("checkpoint %d", n), c, err))
	}
	return errors.Join(errs...)
}

func (o *open) askSecrets(ctx context.Context, b *books, a answers) error {
	var errs []error
	for _, name := range b.secrets {
		value, err := o.secrets.Get(ctx, name)
		errs = append(errs, a.put("secret "+name, value, err))
	}
	for _, kind := range []string{"customer-key", "signing-secret", "card"} {
		names, err := o.secrets.Names(ctx, kind)
		slices.Sort(names)
		errs = append(errs, a.put("secrets of kind "+kind, names, err))
	}
	return errors.Join(errs...)
}

func (o *open) askDeliveries(ctx context.Context, b *books, a answers) error {
	var errs []error
	for _, name := range b.deliveries {
		last, err := o.deliveries.Last(ctx, name)
		errs = append(errs, a.put("delivery "+name, last, err))
	}
	for _, lane := range []string{"acct.endpoint", "acct.other"} {
		page, end, err := o.deliveries.Waiting(ctx, lane, 1, 1000)
		errs = append(errs, a.put("open deliveries of "+lane, []any{page, end}, err))
	}
	beside, err := o.deliveries.Last(ctx, "beside")
	errs = append(errs, a.put("the record beside deliveries", string(beside.Body), err))
	for next := uint64(1); ; {
		page, end, err := o.deliveries.Scan(ctx, next, 40)
		for _, d := range page {
			next = d.Seq + 1
			errs = append(errs, a.put(fmt.Sprintf("record %d", d.Seq), []any{d.Name, d.Body}, nil))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("deliveries: %w", err))
		}
		if err != nil || end {
			return errors.Join(errs...)
		}
	}
}

func (o *open) askPositions(ctx context.Context, b *books, a answers) error {
	var errs []error
	for _, reader := range b.readers {
		p, err := position.Open(ctx, o.deliveries, reader, shards)
		errs = append(errs, a.put("position of "+reader, p.At(), err))
	}
	return errors.Join(errs...)
}
