package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/disk"
	"payledger/eventstore/folder"
	"payledger/eventstore/secrets"
)

// Restore makes a data folder, or the ledger of a new cluster, from a back-up (I1).
type Restore struct {
	From      string `help:"Folder of the back-up." type:"path" required:""`
	Keys      string `help:"Folder of the keys that belong to the back-up." type:"path" required:""`
	Data      string `help:"The new data folder; it must not exist, or be empty." type:"path"`
	MasterKey string `help:"Key that the ledger was made with. A back-up never holds it." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key; a sandbox keeps it in the file master.key of its data folder." type:"path"`

	options.PreviousKey `embed:""`
	options.NATS        `embed:""`
	options.NewCluster  `embed:""`
}

const unfinished = ".restoring" // ends the name of a folder that is being restored

// Run restores the folder or the cluster, and verifies it.
func (c *Restore) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	if err := c.misused(args); err != nil {
		return err
	}
	if c.NatsURL != "" {
		return c.cluster(ctx, std)
	}
	return c.folder(ctx, std)
}

func (c *Restore) folder(ctx context.Context, std terminal.Streams) (err error) {
	if err := apart(folderFlag{"--from", c.From}, folderFlag{"--keys", c.Keys}, folderFlag{"--data", c.Data}); err != nil {
		return options.Usage(err)
	}
	data, err := unused(c.Data)
	if err != nil {
		return err
	}
	room := data + unfinished // it is emptied and removed
	if err := apart(folderFlag{"--from", c.From}, folderFlag{"--keys", c.Keys}, folderFlag{"the folder of unfinished restores", room}); err != nil {
		return options.Usage(err)
	}
	b, err := restore.Open(c.From, c.Keys)
	if err != nil {
		return err
	}
	if c.MasterKey, err = c.checkedKey(b); err != nil {
		return err
	}
	c.MasterKeyFile = ""
	if c.PreviousKey, err = c.checkedPrevious(); err != nil {
		return err
	}
	free, err := takeRoom(room)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	if err := tryName(room, data); err != nil {
		return err
	}
	sentence, err := c.fill(ctx, std.Err, b, room)
	if err == nil {
		err = takeName(room, data)
	}
	if err == nil {
		err = disk.SyncFolder(filepath.Dir(data))
	}
	if err != nil {
		if disk.Full(room) { // the server in the folder says only that it cannot make a stream
			err = fmt.Errorf("%w: no space left on the disk of %s", err, c.Data)
		}
		return fmt.Errorf("%w; %s was not made", err, c.Data)
	}
	_, err = io.WriteString(std.Out, c.size(b, c.Data)+fmt.Sprintf("Before you start it: stop the service of the old folder for good, and repeat the erasures since %s. "+
		"Start it with the master key of the old folder (PAYLEDGER_MASTER_KEY, or the file %s).\n", b.Time.Format(time.RFC3339), secrets.MasterKeyPath(c.Data))+sentence)
	return err
}

func (c *Restore) size(b *restore.Backup, place string) string {
	text := fmt.Sprintf("%s has the ledger of run %d, of %s: %s up to checkpoint %d.\n", place, b.Number, b.Time.Format(time.RFC3339), terminal.Count(b.Events, "event"), b.Checkpoint)
	if b.KeysNumber > b.Number {
		text += fmt.Sprintf("note: the keys are of run %d. Its events are not in %s: that run was interrupted, or its files are missing.\n", b.KeysNumber, c.From)
	}
	return text
}

func (c *Restore) checkedKey(b *restore.Backup) (string, error) {
	text, err := options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile)
	if err != nil {
		return "", options.Usage(err)
	}
	if text == "" {
		return "", options.Usage(errors.New("restore needs the master key of the ledger, which no back-up holds: set PAYLEDGER_MASTER_KEY, or --master-key-file; a sandbox keeps it in the file master.key of its data folder"))
	}
	key, err := secrets.ParseKey(text)
	if err != nil {
		return "", options.Usage(err)
	}
	err = b.CheckSecret(key.Check)
	if errors.Is(err, secrets.ErrSealed) {
		err = errors.New("the master key is not the one of this back-up: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with; nothing was changed")
	}
	return text, err
}

// checkedPrevious reads the key before from its file, and checks its form.
func (c *Restore) checkedPrevious() (options.PreviousKey, error) {
	text, err := options.ReadSecret("--master-key-previous", c.MasterKeyPrevious, c.MasterKeyPreviousFile)
	if err == nil && text != "" {
		if _, err = secrets.ParseKey(text); err != nil {
			err = fmt.Errorf("--master-key-previous: %w", err)
		}
	}
	if err != nil {
		return options.PreviousKey{}, options.Usage(err)
	}
	return options.PreviousKey{MasterKeyPrevious: text}, nil
}

// takeRoom creates an empty folder for the restore, and locks it. free removes the rest of it.
func takeRoom(room string) (free func() error, err error) {
	if err := os.MkdirAll(room, 0o700); err != nil {
		return nil, fmt.Errorf("%w; restore makes this folder beside the new one: name a new folder where it may do so, for example inside the volume; nothing was changed", err)
	}
	lock, err := folder.Lock(room)
	if errors.Is(err, folder.ErrInUse) {
		return nil, fmt.Errorf("another restore writes to %s: wait for its end", room)
	}
	if err != nil {
		return nil, err
	}
	for _, rest := range []string{ledger.EventsFolder, emptyFolder} { // of an interrupted restore
		if err := os.RemoveAll(filepath.Join(room, rest)); err != nil {
			return nil, errors.Join(err, lock.Unlock())
		}
	}
	return func() error { return errors.Join(os.RemoveAll(room), lock.Unlock()) }, nil
}

const emptyFolder = "empty" // in the room, for tryName

// tryName is takeName for an empty folder in room, before the work of the restore: the system
// refuses to replace a folder that is the root of a volume, or that others may not change.
func tryName(room, data string) error {
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	empty := filepath.Join(room, emptyFolder)
	err := os.Mkdir(empty, 0o700)
	if err == nil {
		err = takeName(empty, data)
	}
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) {
		return options.Usage(fmt.Errorf("%s is the root of a volume, which no folder can replace: name a folder inside the volume, for example %s; nothing was changed", data, filepath.Join(data, "ledger")))
	}
	return err
}

// takeName renames the finished folder to its final name. An empty folder of that name is replaced.
func takeName(room, data string) error {
	if err := os.Remove(data); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(room, data)
}

func (c *Restore) fill(ctx context.Context, stderr io.Writer, b *restore.Backup, room string) (sentence string, err error) {
	bar := terminal.NewBar(stderr)
	err = b.Folder(ctx, filepath.Join(room, ledger.EventsFolder), bar.Events)
	bar.Clear()
	if err != nil {
		return "", err
	}
	err = c.openOnce(ctx, bar, room)
	bar.Clear()
	if errors.Is(err, eventstore.ErrUnhealthy) {
		err = damaged{err}
	}
	if errors.Is(err, secrets.ErrIncomplete) {
		err = errors.New("this back-up was made while the master key was rotated: give the key before, too, in PAYLEDGER_MASTER_KEY_PREVIOUS or --master-key-previous-file, or use a later back-up")
	}
	if err != nil {
		return "", err
	}
	if err := os.Remove(folder.LockPath(room)); err != nil {
		return "", err
	}
	var said strings.Builder
	check := audit.Verify{Data: room, MasterKey: c.MasterKey}
	if err := check.Run(ctx, terminal.Streams{Out: &said, Err: stderr}, nil); err != nil {
		return "", damaged{fmt.Errorf("the restored ledger is not whole: %w", err)}
	}
	return said.String(), nil
}

// damaged is the error of a restored ledger that is not whole. Its text leaves out the advice to
// copy the ledger's folder first: restore removes this folder, and the back-up stays as it is.
type damaged struct{ error }

func (d damaged) Error() string {
	text, _, _ := strings.Cut(d.error.Error(), "; copy ")
	return text + "; the back-up was not changed: check it with `payledger verify --data`, or restore another one"
}

func (d damaged) Unwrap() error { return d.error }

// openOnce opens the ledger as a start does: it makes the tip store and the index of SECRETS from
// the log.
func (c *Restore) openOnce(ctx context.Context, bar *terminal.Bar, room string) error {
	o := options.Options{Data: room, MasterKey: c.MasterKey, PreviousKey: c.PreviousKey}
	l, err := ledger.Open(ctx, o, ledger.Existing, ledger.Config{
		Logger: zerolog.Nop(), Progress: func(done, of uint64) { bar.Show("tips", done, of) },
	})
	if err != nil {
		return err
	}
	return l.Close()
}
