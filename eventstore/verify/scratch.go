package verify

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"payledger/domain"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// scratchCache is the memory of the scratch store, in bytes.
const scratchCache = 8 << 20

// scratch holds, in a temporary folder, the aggregates that left the cache and have later events,
// and the list of the tips.
type scratch struct {
	dir   string
	store *tipstore.Store
}

func newScratch(in string) (*scratch, error) {
	dir, err := os.MkdirTemp(in, "payledger-verify-")
	if err != nil {
		return nil, noRoom(fmt.Errorf("a temporary folder is needed: %w", err))
	}
	store, err := tipfiles.Open(tipstore.Options{Dir: dir, Cache: scratchCache})
	if err != nil {
		return nil, errors.Join(noRoom(err), os.RemoveAll(dir))
	}
	store.Hurry() // a put on a full disk returns an error
	return &scratch{dir, store}, nil
}

// noRoom adds the remedy to an error of the temporary folder.
func noRoom(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("verify: %w; set TMPDIR to a folder with room", err)
}

func (s *scratch) close() error { return errors.Join(s.store.Close(), os.RemoveAll(s.dir)) }

// A key is the shard (2 bytes), aggregate, 0, account, 0, id. A value is the address, the number,
// the address of the event before, the revision, the schema (8 bytes each), the two hashes, the
// length and the text of the stream's name, and the state; no bytes for an unknown one.

func scratchKey(shard int, key format.Key) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(shard))
	return append(b, key.Aggregate+"\x00"+string(key.Account)+"\x00"+key.ID...)
}

func parseScratchKey(b []byte) format.Key {
	parts := strings.SplitN(string(b[2:]), "\x00", 3)
	return format.Key{Aggregate: parts[0], Account: domain.AccountID(parts[1]), ID: parts[2]}
}

// put stores an aggregate until take.
func (s *scratch) put(shard int, key format.Key, a *aggregate) error {
	var state []byte
	if a.state != nil {
		var err error
		if state, err = codec.Marshal(a.state); err != nil {
			return fmt.Errorf("verify: %s: %w", key, err)
		}
	}
	b := make([]byte, 0, 100+len(state))
	for _, n := range []uint64{a.seq, a.number, a.previous, a.revision, uint64(a.schema)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b = append(append(b, a.hash[:]...), a.before[:]...)
	b = append(append(b, byte(len(a.stream))), a.stream...)
	return s.set(scratchKey(shard, key), append(b, state...))
}

// take removes an aggregate and returns it; nil if there is none.
func (s *scratch) take(shard int, key format.Key) (*aggregate, error) {
	k := scratchKey(shard, key)
	value, err := s.store.Find(k)
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := parseScratch(key, value)
	if err != nil {
		return nil, err
	}
	batch := s.store.NewBatch()
	return a, errors.Join(batch.Delete(k), batch.Commit())
}

func parseScratch(key format.Key, b []byte) (*aggregate, error) {
	const fixed = 5*8 + 2*32 + 1
	a := &aggregate{size: entrySize + 2*len(b)}
	if len(b) < fixed || len(b) < fixed+int(b[fixed-1]) {
		return nil, fmt.Errorf("verify: the temporary folder is damaged at %s", key)
	}
	schema := uint64(0)
	for i, n := range []*uint64{&a.seq, &a.number, &a.previous, &a.revision, &schema} {
		*n = binary.BigEndian.Uint64(b[8*i:])
	}
	a.schema, a.hash, a.before = int(schema), format.Hash(b[40:72]), format.Hash(b[72:104])
	end := fixed + int(b[fixed-1])
	a.stream = string(b[fixed:end])
	if kind := cores[key.Aggregate]; kind != nil && len(b) > end {
		var err error
		if a.state, err = kind.Decode(b[end:]); err != nil {
			return nil, fmt.Errorf("verify: %s: %w", key, err)
		}
	}
	return a, nil
}

// each calls handle with the aggregates of a shard that are left.
func (s *scratch) each(shard int, handle func(format.Key, *aggregate) error) error {
	return s.store.Each(binary.BigEndian.AppendUint16(nil, uint16(shard)), func(k, value []byte) error {
		key := parseScratchKey(k)
		a, err := parseScratch(key, value)
		if err != nil {
			return err
		}
		return handle(key, a)
	})
}

// Facts, claims and tips are behind all shards: 0xffff, then 0 and the fact; or 1, the fact and the
// id of the owner; or 2, the shard (2 bytes), the number (8 bytes) and the digest of the tip. The
// value of a claim is its fault.
const (
	factRow  = "\xff\xff\x00"
	claimRow = "\xff\xff\x01"
	tipRow   = "\xff\xff\x02"
	tipSize  = len(tipRow) + 2 + 8 + digestSize
)

// tipsOf returns the beginning of the keys of a shard's tips.
func tipsOf(shard int) []byte {
	return binary.BigEndian.AppendUint16(append(make([]byte, 0, tipSize), tipRow...), uint16(shard))
}

func tipKey(shard int, t tip) []byte {
	return append(binary.BigEndian.AppendUint64(tipsOf(shard), t.number), t.digest[:]...)
}

func parseTip(key []byte) tip {
	rest := key[len(tipRow)+2:]
	return tip{binary.BigEndian.Uint64(rest), [digestSize]byte(rest[8:])}
}

func (s *scratch) putFact(f fact) error { return s.set(append([]byte(factRow), f[:]...), nil) }

func (s *scratch) putClaim(c claim, without Fault) error {
	text, err := json.Marshal(without)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return s.set(append(append([]byte(claimRow), c.fact[:]...), c.owner.ID...), text)
}

func (s *scratch) set(key, value []byte) error {
	batch := s.store.NewBatch()
	return noRoom(errors.Join(batch.Set(key, value), batch.Commit()))
}

// eachClaim calls handle with the claims without their fact.
func (s *scratch) eachClaim(handle func(f fact, owner string, without Fault) error) error {
	return s.store.Each([]byte(claimRow), func(k, value []byte) error {
		rest := k[len(claimRow):]
		f := fact(rest[:len(fact{})])
		_, err := s.store.Find(append([]byte(factRow), f[:]...))
		if !errors.Is(err, tipstore.ErrNotFound) {
			return err
		}
		var without Fault
		if err := json.Unmarshal(value, &without); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		return handle(f, string(rest[len(f):]), without)
	})
}
