package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"payledger/cmd/payledger/ledger"
)

// OnlyCopy prints a master key that nothing else keeps. An output that goes to a file is on the
// disk when its methods return: the key in it may soon be the only one.
type OnlyCopy struct {
	Out  io.Writer
	Sync func(*os.File) error
}

// Key prints the new master key of a data folder.
func (o OnlyCopy) Key(key string, asJSON bool) error {
	if asJSON {
		return o.written(json.NewEncoder(o.Out).Encode(map[string]string{"masterKey": key}))
	}
	_, err := fmt.Fprintf(o.Out, "new master key      %s\n\nThis is shown once. Keep it and the old key until this command has exited with 0.\n", key)
	return o.written(err)
}

// Made prints the credentials of a new cluster's ledger, and its master key if it is new.
func (o OnlyCopy) Made(made ledger.Made, asJSON bool) error {
	if asJSON {
		return o.written(json.NewEncoder(o.Out).Encode(made))
	}
	var err error
	if made.MasterKey != "" {
		_, err = fmt.Fprintf(o.Out, "master key          %s\n", made.MasterKey)
	}
	return o.written(errors.Join(err, showCredentials(o.Out, made.Credentials, false)))
}

// written syncs the output after a print, whose error is err.
func (o OnlyCopy) written(err error) error { return printed(errors.Join(err, o.syncFile())) }

func (o OnlyCopy) syncFile() error {
	f, ok := o.Out.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return o.Sync(f)
}
