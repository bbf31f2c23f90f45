package streams

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/eventstore/format"
)

// Account is the NATS account that holds the log. Its name is part of the folder layout.
const Account = "LEDGER"

// Metadata of every segment: the number of the log's shards, its id, and its format. A log is never
// opened with another number of shards than it was made with.
const (
	MetadataShards = "payledger-shards"
	MetadataLog    = "payledger-log"
	MetadataFormat = "payledger-format"
)

// Duplicates is the shortest window of duplicates that the server accepts. The store does not use
// it. A server that starts reads the messages of that time before its clock.
const Duplicates = 100 * time.Millisecond

// Format is the format of the logs that this build writes and reads.
const Format = "4"

// Pattern matches the subjects of all shards of a shard's kind.
func Pattern(shard int) string { return KindOf(shard).root + ".>" }

// Needed returns the number of streams that a log needs room for: those of a new log, their next
// segments, and the registry of nodes.
func Needed(shards int) int { return 2*(shards+3) + 1 }

// Shard returns the beginning of the names of a shard's segments.
func Shard(shard int) string {
	if k := KindOf(shard); !k.Events {
		return k.name
	}
	return events.name + strconv.Itoa(shard)
}

// Name returns the name of a segment.
func Name(shard int, number uint32) string { return numbered(Shard(shard), number) }

func numbered(of string, number uint32) string {
	return of + "_" + strconv.FormatUint(uint64(number), 10)
}

// cut is the inverse of numbered.
func cut(name string) (of string, number uint32, ok bool) {
	last := strings.LastIndexByte(name, '_')
	if last < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(name[last+1:], 10, 32)
	of, number = name[:last], uint32(n)
	return of, number, number > 0 && err == nil && numbered(of, number) == name
}

// Parse is the inverse of Name.
func Parse(name string) (shard int, number uint32, ok bool) {
	of, number, ok := cut(name)
	if i := slices.IndexFunc(single, func(shard int) bool { return Shard(shard) == of }); i >= 0 {
		shard = single[i]
	} else if rest, ours := strings.CutPrefix(of, events.name); ours {
		shard, _ = strconv.Atoi(rest)
	}
	if !ok || Shard(shard) != of {
		return 0, 0, false
	}
	return shard, number, true
}

// single are the shards whose names have no number.
var single = append(slices.Clone(Beside), SecretShard)

// Ours reports whether a stream is a segment of a log.
func Ours(name string) bool {
	_, _, ours := Parse(name)
	return ours
}

// Number returns the number of a segment of a shard; 0 for another stream.
func Number(shard int, name string) uint32 {
	of, number, _ := Parse(name)
	if of != shard {
		return 0
	}
	return number
}

// Segments returns the segments of a shard among some names, in their order.
func Segments(shard int, names []string) (own []string) {
	for _, name := range names {
		if Number(shard, name) > 0 {
			own = append(own, name)
		}
	}
	slices.SortFunc(own, Compare)
	return own
}

// Compare compares the numbers of two segments of a shard.
func Compare(a, b string) int {
	_, x, _ := cut(a)
	_, y, _ := cut(b)
	return cmp.Compare(x, y)
}

// ErrOldFormat means that the folder or the cluster holds a log that an older version wrote.
var ErrOldFormat = errors.New("eventstore: the log is in a format that this version does not read")

// OldFormat returns the error for a log in an older format, with the remedy.
func OldFormat(found string) error {
	return fmt.Errorf("%w: %s; keep the version that wrote it for this ledger and its back-ups, and make a new ledger for this one: in an empty folder, or on NATS servers without a log", ErrOldFormat, found)
}

// CheckFormat returns ErrOldFormat for a segment's metadata of another format.
func CheckFormat(metadata map[string]string) error {
	if f := metadata[MetadataFormat]; f != Format {
		return OldFormat(fmt.Sprintf("format %q instead of %q", f, Format))
	}
	return nil
}

// Old reports whether a name is of an older version's log.
func Old(name string) bool {
	_, _, ok := Parse(name)
	return !ok && slices.ContainsFunc([]*Kind{&events, &deliveries, &checkpoints, &secrets}, func(k *Kind) bool { return strings.HasPrefix(name, k.name) })
}

// Subject returns the subject of a segment; of SECRETS a pattern.
func Subject(shard int, number uint32) string {
	segment := strconv.FormatUint(uint64(number), 10)
	switch k := KindOf(shard); {
	case k.Destroys:
		return k.root + "." + segment + ".>"
	case !k.Events:
		return k.root + "." + segment
	}
	return events.root + "." + strconv.Itoa(shard) + "." + segment
}

// LogID returns the id of the log in a segment's metadata.
func LogID(metadata map[string]string) (id format.LogID, err error) {
	text, err := hex.DecodeString(metadata[MetadataLog])
	if err != nil || len(text) != len(id) {
		return id, errors.New("the description of the stream has no id of the log")
	}
	return format.LogID(text), nil
}

// MetadataRestore is in the metadata of the first segment of shard 0 while a log is being restored
// to a cluster. Its value is the number of the back-up's run.
const MetadataRestore = "payledger-restoring"

// ErrRestoring means that the log in the cluster is incomplete: it is being restored from a
// back-up, or a restore was cut short.
var ErrRestoring = errors.New("a restore of this cluster's ledger is under way, or was cut short: run `payledger restore --nats-url` with the same back-up, which begins again, and wait for its end")

// Restoring reports whether a segment's metadata says that its log is being restored.
func Restoring(metadata map[string]string) bool { return metadata[MetadataRestore] != "" }
