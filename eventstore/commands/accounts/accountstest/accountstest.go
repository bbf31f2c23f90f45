package accountstest

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/fstest"

	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// A test waits for no password: there are hundreds of first accounts, and a guess at the real cost
// takes 64 MiB three times.
func init() { secrets.PasswordMemory = 64 }

// Initialized fills the empty folder dir with the log of a sandbox that has its first account, and
// returns the credentials of the account. The log is made once in a process, and copied.
func Initialized(t testing.TB, dir string) accounts.Credentials {
	t.Helper()
	made, err := initialized()
	if err == nil {
		err = os.CopyFS(dir, made.files)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.credentials
}

// Initialize makes the first account of a log.
func Initialize(t testing.TB, store *engine.Store, vault *secrets.Store) accounts.Credentials {
	t.Helper()
	made, err := accounts.Initialize(t.Context(), store, vault, rand.Reader, account.Sandbox, "cli:init", nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

type stoppedLog struct {
	files       fstest.MapFS
	credentials accounts.Credentials
}

var initialized = sync.OnceValues(func() (made stoppedLog, err error) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if made.credentials, err = initialize(dir); err != nil {
		return made, err
	}
	made.files, err = contents(dir)
	return made, err
})

func initialize(dir string) (made accounts.Credentials, err error) {
	ctx := context.Background()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	store, err := engine.Open(ctx, eventstoretest.Config(server))
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	vault, err := secrets.Open(ctx, store, eventstoretest.MasterKey, rand.Reader)
	if err != nil {
		return made, err
	}
	return accounts.Initialize(ctx, store, vault, rand.Reader, account.Sandbox, "cli:init", nil)
}

// contents reads all files below dir. Empty folders are left out: the server makes them again.
func contents(dir string) (fstest.MapFS, error) {
	files, root := fstest.MapFS{}, os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		files[name] = &fstest.MapFile{Data: content, Mode: 0o600}
		return err
	})
	return files, err
}
