package engine_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"payledger/domain/childtest"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// layout is one message of testdata/group.json with all of its content, in words that any
// programming language reads.
type layout struct {
	Name            string `json:"name"`
	Message         string `json:"message"`
	Kind            int    `json:"kind"`
	Compression     int    `json:"compression"`
	Shard           int    `json:"shard"`
	Log             string `json:"log"`
	Sequence        uint64 `json:"sequence"`
	Events          uint64 `json:"events"`     // before it
	Aggregates      uint64 `json:"aggregates"` // before it
	Before          string `json:"before"`
	WitnessShard    int    `json:"witnessShard"`
	WitnessSequence uint64 `json:"witnessSequence"`
	WitnessHash     string `json:"witnessHash"`
	// The ends of CHECKPOINTS and SECRETS; 0: none.
	BesideCheckpoints uint64   `json:"besideCheckpoints"`
	BesideSecrets     uint64   `json:"besideSecrets"`
	Size              int      `json:"size"` // of the frames, before compression
	Frames            []string `json:"frames"`
	Next              uint32   `json:"next"` // of a closing group: the next segment
	Hash              string   `json:"hash"`
}

var (
	frameFile = filepath.Join("testdata", "frame.hex")
	groupFile = filepath.Join("testdata", "group.json")
)

// layoutGroups are five groups that follow each other: one with two events, one with one event of
// the same payment, an empty group, a closing group, and an empty group that names records beside
// the log.
func layoutGroups(t testing.TB) []*engine.Group {
	t.Helper()
	first, next := examples(t)
	next.PrevSeq = format.At(41, 0)
	other := *first
	other.ID, other.PrevSeq = "01anotherexampleexampleex0", 0
	other.Hash = other.Link(eventstore.Hash{})
	all := []*engine.Group{
		{Seq: 41, Events: 1000, Aggregates: 400, Frames: []*eventstore.Recorded{first, &other}},
		{Seq: 42, Events: 1002, Aggregates: 402, Frames: []*eventstore.Recorded{next}},
		{Seq: 43, Events: 1003, Aggregates: 402, Kind: engine.KindEmpty},
		{Seq: 44, Events: 1003, Aggregates: 402, Kind: engine.KindClosing, Next: 3},
		{Seq: 45, Events: 1003, Aggregates: 402, Kind: engine.KindEmpty, Ends: format.Ends{Checkpoints: 9, Secrets: 1 << 33}},
	}
	for i, g := range all {
		g.Shard, g.Log = 2, format.LogID([]byte("log id: 16 bytes"))
		g.WitnessShard, g.WitnessSeq, g.WitnessHash = 3, 77, eventstore.Hash{0xab, 0xcd}
		if g.Kind == engine.KindEmpty { // one without a witness
			g.WitnessShard, g.WitnessSeq, g.WitnessHash = engine.NoShard, 0, eventstore.Hash{}
		}
		g.Before = eventstore.Hash{0x11, 0x22}
		if i > 0 {
			g.Before = all[i-1].Hash
		}
		if i != compressedGroup {
			data := g.EncodePlain()
			g.Hash = sha256.Sum256(data[:len(data)-engine.GroupTrailer])
		} else {
			g.Encode()
		}
	}
	return all
}

// compressedGroup is the group of testdata/group.json that is stored compressed.
const compressedGroup = 1

// TestLayoutVectors: the bytes of a frame and of a group are those of eventstore/doc.go: the bytes
// in the files are read, and those that are not compressed are the same after writing them again.
// The first release freezes the files (there, Schemas).
func TestLayoutVectors(t *testing.T) {
	t.Parallel()
	_, next := examples(t)
	frame, err := os.ReadFile(frameFile)
	if os.IsNotExist(err) && *update {
		frame = []byte(hexLines(next.AppendFrame(nil)))
		err = os.WriteFile(frameFile, frame, 0o600)
	}
	if err != nil || string(frame) != hexLines(next.AppendFrame(nil)) {
		t.Errorf("%v; the frame is\n%s and was\n%s", err, hexLines(next.AppendFrame(nil)), frame)
	}
	text, err := os.ReadFile(groupFile)
	if os.IsNotExist(err) && *update {
		if text, err = json.MarshalIndent(makeLayouts(t), "", "  "); err == nil {
			err = os.WriteFile(groupFile, text, 0o600)
		}
	}
	var layouts []layout
	if err != nil || json.Unmarshal(text, &layouts) != nil || len(layouts) != 5 {
		t.Fatal(err, len(layouts))
	}
	made := makeLayouts(t)
	for i, want := range layouts {
		g, err := engine.ParseGroup(unhex(t, want.Message))
		if err != nil {
			t.Fatal(want.Name, err)
		}
		same(t, "read: "+want.Name, layoutOf(want.Name, unhex(t, want.Message), g), want)
		if i < compressedGroup { // the hashes of those behind depend on how the compressed one came out
			same(t, "written: "+want.Name, made[i], want)
		}
		if i != compressedGroup && hex.EncodeToString(g.EncodePlain()) != want.Message {
			t.Errorf("%s is written otherwise", want.Name)
		}
		if i > 0 && want.Before != layouts[i-1].Hash {
			t.Errorf("%s does not follow the one before", want.Name)
		}
	}
}

func makeLayouts(t *testing.T) (all []layout) {
	t.Helper()
	names := []string{"two events, not compressed", "an event, compressed", "an empty group", "a closing group", "an empty group with records beside the log"}
	for i, g := range layoutGroups(t) {
		data := g.EncodePlain()
		if i == compressedGroup {
			data = g.Encode()
		}
		g.Hash = sha256.Sum256(data[:len(data)-engine.GroupTrailer])
		all = append(all, layoutOf(names[i], data, g))
	}
	return all
}

func layoutOf(name string, data []byte, g *engine.Group) layout {
	l := layout{
		Name: name, Message: hex.EncodeToString(data), Kind: int(g.Kind), Compression: int(data[5]), Shard: g.Shard,
		Log: hex.EncodeToString(g.Log[:]), Sequence: g.Seq, Events: g.Events, Aggregates: g.Aggregates, Before: g.Before.String(),
		WitnessShard: g.WitnessShard, WitnessSequence: g.WitnessSeq, WitnessHash: g.WitnessHash.String(),
		BesideCheckpoints: g.Ends.Checkpoints, BesideSecrets: g.Ends.Secrets,
		Size: int(binary.BigEndian.Uint32(data[8:])), Frames: []string{}, Next: g.Next, Hash: g.Hash.String(),
	}
	for _, r := range g.Frames {
		l.Frames = append(l.Frames, hex.EncodeToString(r.AppendFrame(nil)))
	}
	return l
}

// TestLayoutInPython: another language reads the same from the same bytes: the script knows nothing
// but doc.go.
func TestLayoutInPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Log("python3 is not installed: only the tests in Go were run")
		return
	}
	script := childtest.Tied(exec.CommandContext(testContext(t), python, "-O", "layout.py")) // without asserts
	script.Dir = "testdata"
	output, err := script.CombinedOutput()
	if err != nil || string(output) != "2 events and 5 groups are as they should be\n" {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestEmptyGroupBytes: an empty group has 94 bytes, 42 more with a witness, and 16 more with the
// ends of CHECKPOINTS and SECRETS.
func TestEmptyGroupBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		witness bool
		ends    format.Ends
		want    int
	}{
		{false, format.Ends{}, 94}, {false, format.Ends{Secrets: 1}, 110}, {true, format.Ends{}, 136}, {true, format.Ends{Checkpoints: 1}, 152},
	} {
		g := format.Group{Kind: format.KindEmpty, Seq: 7, Ends: c.ends, Witness: format.Witness{Shard: format.NoShard}}
		if c.witness {
			g.Witness.Shard = 1
		}
		if got := len(g.Encode()); got != c.want {
			t.Errorf("%d bytes instead of %d, with a witness: %t, ends: %v", got, c.want, c.witness, c.ends)
		}
	}
}
