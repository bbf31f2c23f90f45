//go:build system

package kills

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/faulttest"
)

var (
	besideFaults = flag.Int("besidefaults", 20, "number of faults that TestVerifyDamageBesideService makes; with -short a quarter of it")
)

// besideStreams are the streams whose files are damaged, each as often as the others.
var besideStreams = []string{"LEDGER_", "DELIVERIES_", "SECRETS_", "CHECKPOINTS_"}

// TestVerifyDamageBesideService damages the files of a running service at random: verify beside the
// service names the stream, or the scrub finds the fault and readyz is red, or the fault is
// harmless: the answers, also after a restart, are byte for byte as before (I1).
func TestVerifyDamageBesideService(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	v := makeViews(t)
	seed, n := seedtest.Seed(t), *besideFaults
	if testing.Short() {
		n /= 4
	}
	counts := map[string]int{}
	for i := range uint64(n) {
		if !seedtest.Turn(int(i), 3) {
			continue
		}
		stream := besideStreams[i%uint64(len(besideStreams))]
		what, verdict := v.damagedBeside(t, stream, rand.New(rand.NewPCG(seed+i, 2)))
		t.Logf("seed %d: %s: %s", seed+i, what, verdict)
		counts[strings.Trim(stream, "_")+": "+verdict]++
	}
	t.Logf("%d faults from seed %d: %v", n, seed, counts)
}

// damagedBeside starts a service, damages a file of a stream, and judges.
func (v *viewsTemplate) damagedBeside(t *testing.T, stream string, random *rand.Rand) (what, verdict string) {
	t.Helper()
	data := v.folder(t, v.stopped)
	app, stop := apptest.StartToStop(t, apptest.TestOptions(data))
	m := apptest.NewMerchant(app.API.URL, v.key)
	if random.IntN(2) == 0 { // the service has read the files
		v.ask(t, m)
	}
	paths, err := filepath.Glob(filepath.Join(data, ledger.EventsFolder, "jetstream", "*", "streams", stream+"*", "msgs", "*.blk"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	path := paths[random.IntN(len(paths))]
	name := filepath.Base(filepath.Dir(filepath.Dir(path)))
	what = damageInPlace(t, path, name, random)
	status, out, stderr := apptest.Invoke(t, "verify", "--data", data, "--all")
	if status != 0 {
		if !strings.Contains(out+stderr, name+" at sequence ") {
			t.Errorf("%s: verify exits %d and does not name it: %s%s", what, status, out, stderr)
		}
		_ = stop() // a damaged log may refuse to stop in order
		return what, "named by verify"
	}
	response, err := http.Post(app.Ready().Admin+"/scrub", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		ready, err := m.Call("GET", "/readyz", nil, nil)
		if err != nil || ready.Status != http.StatusServiceUnavailable || !bytes.Contains(ready.Body, []byte("damaged")) {
			t.Errorf("%s: the scrub found it, and readyz says %d %s %v", what, ready.Status, ready.Body, err)
		}
		if text := apptest.GetText(t, app.Ready().Admin+"/readyz", http.StatusServiceUnavailable); !strings.Contains(text, name) {
			t.Errorf("%s: readyz of the admin address does not name it: %s", what, text)
		}
		_ = stop()
		return what, "found by the scrub"
	}
	if now := v.ask(t, m); !maps.Equal(now, v.answers) {
		t.Errorf("%s: nothing was found, and the service answers %s", what, otherwise(v.answers, now))
	}
	if err := stop(); err != nil {
		t.Errorf("%s: nothing was found, and the service stops with %v", what, err)
	}
	if now := v.started(t, data); !maps.Equal(now, v.answers) {
		t.Errorf("%s: nothing was found, and a restart answers %s", what, otherwise(v.answers, now))
	}
	return what, "harmless"
}

// damageInPlace changes a block of a running service, which has it open.
func damageInPlace(t *testing.T, path, stream string, random *rand.Rand) string {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil || len(was) == 0 {
		t.Fatal(path, err)
	}
	for {
		kind := slices.Sorted(maps.Keys(blockDamages))[random.IntN(len(blockDamages))]
		now := bytes.Clone(was)
		detail := blockDamages[kind](now, faulttest.Records(was), random)
		if bytes.Equal(was, now) {
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		for at := range now { // no other byte is written: the service may append
			if now[at] != was[at] && err == nil {
				_, err = f.WriteAt(now[at:at+1], int64(at))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s of %s %s: %s", kind, stream, filepath.Base(path), detail)
	}
}

// blockDamages change the bytes of a block. records are the places of its records and its end.
var blockDamages = map[string]func(b []byte, records []int64, random *rand.Rand) string{
	"bit": func(b []byte, _ []int64, random *rand.Rand) string {
		at, bit := random.IntN(len(b)), random.IntN(8)
		b[at] ^= 1 << bit
		return fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(b))
	},
	"byte": func(b []byte, _ []int64, random *rand.Rand) string {
		at := random.IntN(len(b))
		b[at] = byte(random.Uint32())
		return fmt.Sprintf("byte %d of %d", at, len(b))
	},
	"swap": func(b []byte, records []int64, random *rand.Rand) string {
		if len(records) < 3 {
			return "" // there is nothing to swap
		}
		n := random.IntN(len(records) - 2)
		first, second, end := records[n], records[n+1], records[n+2]
		copy(b[first:], append(bytes.Clone(b[second:end]), b[first:second]...))
		return fmt.Sprintf("the records %d and %d of %d", n, n+1, len(records)-1)
	},
	"zero": func(b []byte, _ []int64, random *rand.Rand) string {
		at := random.IntN(len(b)) &^ 4095
		clear(b[at:min(len(b), at+4096)])
		return fmt.Sprintf("the page at %d of %d", at, len(b))
	},
}
