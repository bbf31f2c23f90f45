package blocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"payledger/eventstore/stored"
)

// Report is the state of a stream.
type Report struct {
	Stream   string
	Kind     Kind
	First    uint64 // the lowest sequence of a message that was read; 0 if none
	Last     uint64 // the highest sequence that was read, that of a deleted message included; 0 if none
	Messages uint64 // messages that were read, deleted later or not
	Blocks   []Result
	Faults   []Fault // at most 100 of each block
}

// Verify reads the blocks of a stream, from Options.From on, and its meta.inf, and compares them
// with each other and with index.db. It opens files for reading only. It returns errors of reads,
// of Handle and of Pace. The Report has the faults.
func Verify(dir, account, stream string, o Options) (Report, error) {
	v := &verifier{files: Files, folder: Folder(dir, account, stream), o: o, report: Report{Stream: stream}}
	if _, err := os.Stat(v.folder); err != nil {
		return Report{}, fmt.Errorf("blocks: %w", err)
	}
	if err := v.meta(); err != nil {
		return Report{}, err
	}
	if err := v.begin(); err != nil {
		return Report{}, err
	}
	index, indexed := readIndex(v.folder, stream)
	if err := v.blocks(); err != nil {
		return Report{}, err
	}
	if err := v.lookBack(); err != nil {
		return Report{}, err
	}
	if !o.Deletes {
		v.expect(o.Through, "messages are missing at the end")
		v.purged()
	}
	switch {
	case !indexed || o.Through != 0:
	case o.Deletes && o.From == Newest: // that block may hold only tombstones
		v.report.Last = max(v.report.Last, index.last)
	case o.Deletes:
		v.expect(v.stands(index.newest), behindIndex)
	default:
		v.expect(index.last, behindIndex)
	}
	v.finish()
	return v.report, nil
}

type verifier struct {
	files   func(folder string) ([]File, error) // Files, but for tests
	folder  string
	o       Options
	first   uint64 // sequence of the stream's first message, by meta.inf
	from    int    // number of the first block to read; 0: the first one
	place   place
	buffers [2][]byte // of the windows
	newest  *File     // the last file read
	before  place     // where that file was begun
	report  Report
}

const behindIndex = "index.db knows of messages that are missing at the end"

// stands returns the last sequence of the newest block of index.db, which a stream with deletes
// must have; 0 if the block has no message, or is not the newest one any more: the server may have
// compacted it since.
func (v *verifier) stands(newest extent) uint64 {
	if newest.first > newest.last || v.newest != nil && v.newest.Number > newest.block {
		return 0
	}
	return newest.last
}

// place is a place between two records of a stream. The zero value is the beginning.
type place struct {
	block  int    // number of the block file
	offset int64  // in bytes
	last   uint64 // the highest sequence before the place; 0 if none
}

// meta checks the description of the stream and takes the first sequence from it.
func (v *verifier) meta() error {
	meta, err := CheckMeta(v.folder, v.report.Stream)
	switch {
	case errors.Is(err, ErrMeta):
		v.fault(Fault{Reason: err.Error()})
	case err != nil:
		return err
	}
	v.first = max(meta.FirstSeq, 1)
	return nil
}

// begin finds the first block to read. If others come before it, it reads the first message of a
// stream without deletes.
func (v *verifier) begin() error {
	files, err := v.files(v.folder)
	if v.o.From == 0 || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := len(files) - 1; i > 0 && err == nil && v.from == 0; i-- {
		var first uint64
		if first, err = FirstIn(files[i].Path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if first > 0 && first <= v.o.From {
			v.from = files[i].Number
		}
	}
	if err != nil || v.from == 0 || v.o.Deletes {
		return err
	}
	head, err := ReadBlock(files[0].Path, v.report.Stream, Options{Deletes: true, Through: v.first})
	if err == nil && head.Kind <= Stopped && head.First > v.first {
		v.fault(Fault{Reason: "messages are missing at the beginning", From: v.first, To: head.First - 1})
	}
	return err
}

// blocks reads the block files, including files that the server adds meanwhile.
func (v *verifier) blocks() error {
	for {
		files, err := v.list()
		if err != nil || len(files) == 0 {
			return err
		}
		if v.newest != nil && v.grown() { // a newer block has come: this one is complete by now, or damaged
			files = append([]File{*v.newest}, files...)
			v.report.Blocks = v.report.Blocks[:len(v.report.Blocks)-1]
			v.place = v.before
		}
		for i, f := range files {
			result, err := v.block(f)
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed by the server, or its messages will be found missing
			}
			if err != nil {
				return err
			}
			if result.Kind == Torn && i < len(files)-1 {
				result.Kind = Damaged
			}
			result.Path = f.Path
			v.report.Blocks = append(v.report.Blocks, result)
			if result.Kind == Stopped {
				return nil
			}
			v.newest = &f
		}
	}
}

// grown reports whether the last file read has bytes that were not read, or were no record then.
func (v *verifier) grown() bool {
	info, err := os.Stat(v.newest.Path)
	return err == nil && info.Size() != v.place.offset
}

// list returns the files that were not read yet. Of two files that the server made meanwhile, a
// list may have the newer one alone: then it is made again.
func (v *verifier) list() ([]File, error) {
	next := v.from
	if done := len(v.report.Blocks); done > 0 {
		next = v.report.Blocks[done-1].Block + 1
	}
	for before := 0; ; {
		files, err := v.files(v.folder)
		if errors.Is(err, fs.ErrNotExist) {
			v.fault(Fault{Reason: "folder msgs is missing"})
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(f File) bool { return f.Number < next })
		absent := missing(files, next)
		if v.o.Deletes || absent == 0 || absent == before { // still missing: no list will have it
			return files, nil
		}
		before = absent
	}
}

// missing returns the number of the first file that a list lacks, from next on if that is not 0; 0:
// none.
func missing(files []File, next int) int {
	for _, f := range files {
		if next != 0 && f.Number != next {
			return next
		}
		next = f.Number + 1
	}
	return 0
}

const tries = 3 // how often a block that changed during its read is read again

// block reads one file. It reads the file again if the file was bad and changed meanwhile.
func (v *verifier) block(f File) (Result, error) {
	from := v.place
	for try := 0; ; try++ {
		before, err := os.Stat(f.Path)
		if err != nil {
			return Result{}, fmt.Errorf("blocks: %w", err)
		}
		r, err := v.read(f, from)
		if err != nil {
			return Result{}, err
		}
		after, err := os.Stat(f.Path)
		same := err == nil && os.SameFile(before, after) && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime())
		if r.result.Kind < Torn || same || try == tries {
			v.before, v.place = from, place{f.Number, r.offset, r.last}
			return r.result, nil
		}
	}
}

func (v *verifier) read(f File, from place) (*reader, error) {
	file, size, err := open(f.Path, v.o.Uncached)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	w := newWindow(file, size, v.o.Pace)
	w.bytes, w.spare = v.buffers[0], v.buffers[1]
	defer func() { v.buffers = [2][]byte{w.bytes[:0], w.spare[:0]} }()
	r := newReader(w, v.report.Stream, f.Number, &v.o)
	if from.block == f.Number {
		r.offset, r.result.End = from.offset, from.offset
	}
	switch r.first, r.last = v.first, from.last; {
	case r.last != 0:
		r.next = r.last + 1
	case v.from == 0:
		r.next = v.first
	}
	r.note = v.note
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("blocks: %s: %w", f.Path, err)
	}
	return r, nil
}

func (v *verifier) note(r *stored.Message) {
	if r.Stands() && v.report.First == 0 {
		v.report.First = r.Seq
	}
	v.report.Last = max(v.report.Last, r.Seq)
}

// lookBack finds the last message before the first block that was read, if that block begins with
// a bad record: the block itself does not show the sequence of that record.
func (v *verifier) lookBack() error {
	if v.from == 0 || len(v.report.Blocks) == 0 {
		return nil
	}
	read := &v.report.Blocks[0]
	if len(read.Faults) == 0 || read.Faults[0].After != 0 {
		return nil
	}
	last, err := v.lastBefore(read.Block)
	for i := range read.Faults {
		read.Faults[i].After = max(read.Faults[i].After, last)
	}
	v.report.Last = max(v.report.Last, last)
	return err
}

// lastBefore returns the highest sequence of a good record in the blocks before one; 0 if there is
// none. A block that the disk cannot return is a fault: it holds the messages after that one.
func (v *verifier) lastBefore(block int) (last uint64, err error) {
	files, err := v.files(v.folder)
	if err != nil {
		return 0, err
	}
	var lost []Fault
	defer func() {
		for _, f := range lost {
			f.After = last
			v.fault(f)
		}
	}()
	for _, f := range slices.Backward(files) {
		if f.Number >= block {
			continue
		}
		result, err := ReadBlock(f.Path, v.report.Stream, Options{Deletes: true, Uncached: v.o.Uncached, Pace: v.o.Pace})
		switch {
		case errors.Is(err, syscall.EIO):
			lost = append(lost, Fault{Block: f.Number, Reason: err.Error()})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return 0, err
		case result.Last > 0:
			return result.Last, nil
		}
	}
	return 0, nil
}

// expect notes a fault if the stream ends before a sequence.
func (v *verifier) expect(last uint64, reason string) {
	if have := max(v.report.Last, v.first-1); have < last {
		v.fault(Fault{Reason: reason, From: have + 1, To: last})
	}
}

// purged notes a fault if the next start of the server would delete the messages: it ends a purge
// that it finds begun.
func (v *verifier) purged() {
	entries, _ := os.ReadDir(filepath.Join(v.folder, purging))
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".blk") && v.report.First != 0 {
			v.fault(Fault{Reason: "folder " + purging + " would make the server delete all messages"})
			return
		}
	}
}

func (v *verifier) fault(f Fault) { v.report.Faults = append(v.report.Faults, f) }

func (v *verifier) finish() {
	r := &v.report
	if len(r.Faults) > 0 {
		r.Kind = Damaged
	}
	for _, b := range r.Blocks {
		r.Kind = max(r.Kind, b.Kind)
		r.Faults = append(r.Faults, b.Faults...)
		r.Messages += b.Messages
	}
	for i := range r.Faults {
		if f := &r.Faults[i]; f.Block != 0 { // before the first record of a later segment
			f.After = max(f.After, v.first-1)
		}
	}
}
