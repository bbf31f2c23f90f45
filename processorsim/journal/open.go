package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Open opens or creates the file at path for appends, and hands every whole line to read in order.
// cut is the length of a torn last line that was cut off. An error of read ends Open and names the
// line.
func Open(path string, read func(line []byte) error) (j *Journal, cut int, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := lock(file); err != nil {
		return nil, 0, fmt.Errorf("journal %s is in use: %w", path, err)
	}
	whole, cut, err := readLines(file, read)
	if err != nil {
		return nil, 0, err
	}
	if cut > 0 {
		if err := errors.Join(file.Truncate(whole), file.Sync()); err != nil {
			return nil, 0, err
		}
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return nil, 0, err
	}
	j = &Journal{file: file, wake: make(chan struct{}, 1), done: make(chan struct{}), batch: newCommit()}
	go j.run()
	return j, cut, nil
}

// Read hands every whole line of the file at path to read, in order, and changes nothing: a torn
// last line stays and is left out. A file that a process has open for writing is refused.
func Read(path string, read func(line []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := lock(file); err != nil {
		return fmt.Errorf("journal %s is in use: %w", path, err)
	}
	_, _, err = readLines(file, read)
	return err
}

// readLines returns the length of the whole lines, and how many bytes of a torn one follow.
func readLines(file *os.File, read func(line []byte) error) (whole int64, torn int, err error) {
	r := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		switch {
		case err == io.EOF:
			return whole, len(line), nil
		case err != nil:
			return 0, 0, err
		}
		if err := read(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return 0, 0, fmt.Errorf("%s line %d (byte %d): %w", file.Name(), n, whole, err)
		}
		whole += int64(len(line))
	}
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
