// Package keyuse remembers when each API key was last used, by the minute (D20: lastUsedAt).
//
// Rules:
//
//   - A use is a note in memory, not an event: the history of an account has its changes only.
//   - The notes are written to one small file, at most once a minute if they changed, and at an
//     orderly stop. After a crash lastUsedAt may be a minute too old, or missing for a key's first
//     use.
//   - The file is disposable. A file that cannot be read is replaced; lastUsedAt is then missing
//     until the next use.
//   - Each node has its own file, and knows only the uses that it served.
//
// The package must not know: whether a key is valid, HTTP, the log.
//
// Design note. The alternative, a log record for each key and minute, would write 288,000 records a
// day for 200 keys, and none is ever deleted. A file of 200 keys has 8 kB.
package keyuse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"payledger/domain"
)

// Uses are the last uses of all keys. Its methods may be called from many goroutines.
type Uses struct {
	file    string // "": memory only
	mu      sync.RWMutex
	minutes map[domain.APIKeyID]int64 // since 1970, by key
	changed bool                      // since the file was written
	writing sync.Mutex
}

// InMemory returns Uses without a file.
func InMemory() *Uses { return &Uses{minutes: map[domain.APIKeyID]int64{}} }

// Open reads the file; a missing file is an empty one. With an error it also returns Uses that are
// ready and empty.
func Open(file string) (*Uses, error) {
	u := InMemory()
	u.file = file
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &u.minutes)
	}
	if err == nil && u.minutes == nil {
		err = errors.New("it holds no object")
	}
	if err != nil {
		u.minutes = map[domain.APIKeyID]int64{}
		return u, fmt.Errorf("last uses of API keys: %s: %w", file, err)
	}
	return u, nil
}

// Note records that a key was used at a time.
func (u *Uses) Note(id domain.APIKeyID, at time.Time) {
	minute := at.Unix() / 60
	u.mu.RLock()
	known, found := u.minutes[id]
	u.mu.RUnlock()
	if found && known == minute {
		return
	}
	u.mu.Lock()
	u.minutes[id], u.changed = minute, true
	u.mu.Unlock()
}

// Last returns the minute in which a key was last used; false when no use is known.
func (u *Uses) Last(id domain.APIKeyID) (time.Time, bool) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	minute, found := u.minutes[id]
	return time.Unix(minute*60, 0).UTC(), found
}

// Keep forgets every key for which there reports false.
func (u *Uses) Keep(there func(domain.APIKeyID) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id := range u.minutes {
		if !there(id) {
			delete(u.minutes, id)
			u.changed = true
		}
	}
}

// Save writes the file if anything has changed since the last time. The file is replaced as a
// whole.
func (u *Uses) Save() error {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	if !u.changed || u.file == "" {
		u.mu.Unlock()
		return nil
	}
	text, err := json.Marshal(u.minutes)
	u.changed = false
	u.mu.Unlock()
	next := u.file + ".next"
	if err == nil {
		err = os.WriteFile(next, text, 0o600)
	}
	if err == nil {
		err = os.Rename(next, u.file)
	}
	if err != nil {
		u.mu.Lock()
		u.changed = true
		u.mu.Unlock()
		return fmt.Errorf("last uses of API keys: %w", err)
	}
	return nil
}

const saveEvery = time.Minute

// Run saves every minute, and once more when ctx ends. Keys for which there reports false are
// forgotten; failed gets the errors.
func (u *Uses) Run(ctx context.Context, there func(domain.APIKeyID) bool, failed func(error)) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for going := true; going; {
		select {
		case <-tick.C:
			u.Keep(there)
		case <-ctx.Done():
			going = false
		}
		if err := u.Save(); err != nil {
			failed(err)
		}
	}
}
