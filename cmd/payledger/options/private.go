package options

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"payledger/cmd/payledger/limits"
	"payledger/eventstore/folder"
	"payledger/eventstore/secrets"
)

// Warnings returns the faults that refuse a start in production, and are logged in the sandbox: other users of the machine can change the
// data folder, or read its master key.
func (o Options) Warnings() []string {
	if o.Sandbox() {
		return o.openFaults()
	}
	return nil
}

// openFaults returns what other users of the machine may do with the data folder, its master key, and the files of secrets.
func (o Options) openFaults() (faults []string) {
	if runtime.GOOS == "windows" { // it has no such modes
		return nil
	}
	faults = FolderFaults(o.Data)
	for flag, path := range map[string]string{
		"--master-key-file": o.MasterKeyFile, "--master-key-previous-file": o.PreviousKey.MasterKeyPreviousFile,
		"--processor-secret-file": o.ProcessorSecretFile, "--tls-key": o.TLSKey, "--nats-key": o.NatsKey, "--nats-creds": o.NatsCreds,
	} {
		if info, err := os.Stat(path); path != "" && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
			faults = append(faults, fmt.Sprintf("%s: other users may change %s, which has the mode %04o: `chmod 600 %[2]s`", flag, path, info.Mode().Perm()))
		}
	}
	return faults
}

// FolderFaults returns what other users of the machine may do with a data folder, which may not exist yet, and with its master key.
//
// Users that may write in a folder can exchange its files. A folder may be open to a group if it has the setgid bit, as the volumes of
// Kubernetes have with fsGroup. A folder above it may be open to all, as the root of many volumes is (emptyDir, local-path, a tmpfs), if
// the data folder belongs to the process's user or root: other users cannot make such a folder to put it in its place.
func FolderFaults(data string) (faults []string) {
	info, err := os.Stat(data)
	if err != nil || runtime.GOOS == "windows" {
		return nil
	}
	if open := openTo(info); open != 0 {
		faults = append(faults, fmt.Sprintf("other users may change the data folder %s, which has the mode %04o: %s", data, info.Mode().Perm(), privateAdvice(data, info, os.Geteuid())))
	} else if above := openAbove(data); above != "" && !slices.Contains([]int{-1, 0, os.Geteuid()}, limits.Owner(info)) {
		faults = append(faults, fmt.Sprintf("other users may exchange the data folder %s: it belongs to another user, and all users may write in %s above it. "+
			"Give it to the user of the service, or take a folder that the service makes: `--data %s`", data, above, filepath.Join(data, ownFolder)))
	}
	key := secrets.MasterKeyPath(data)
	for _, path := range []string{key, key + ".next"} {
		readers := fs.FileMode(0o077)
		if info.Mode()&os.ModeSetgid != 0 {
			readers = 0o007 // Kubernetes opens all files of a volume to its fsGroup
		}
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&readers != 0 {
			faults = append(faults, fmt.Sprintf("other users may read the master key %s, which has the mode %04o: `chmod 600 %[1]s`", filepath.Clean(path), info.Mode().Perm()))
		}
	}
	return faults
}

// openTo returns the bits of a folder's mode that let other users exchange its files.
func openTo(info fs.FileInfo) fs.FileMode {
	if info.Mode()&os.ModeSetgid != 0 {
		return info.Mode().Perm() & 0o002
	}
	return info.Mode().Perm() & 0o022
}

// EventsFolder is the folder of an embedded server in the data folder.
const EventsFolder = "events"

// ownFolder is the name of the data folder in a volume whose root is open to others, as in the image.
const ownFolder = "ledger"

// privateAdvice returns the way to make a data folder private that others may change, for a service that runs as the user. The service cannot change the mode of another user's folder,
// as the root of a volume in a container is.
func privateAdvice(data string, info fs.FileInfo, user int) string {
	if user == 0 || limits.Owner(info) == user {
		return fmt.Sprintf("`chmod 700 %s`", data)
	}
	own := filepath.Join(data, ownFolder)
	text := fmt.Sprintf("it belongs to another user, as the root of a volume in a container does. Set `--data %s` (PAYLEDGER_DATA): the service makes this folder for itself", own)
	if holdsLedger(data) {
		text += fmt.Sprintf(". `payledger backup --data %s` and `payledger restore --data %s` take the ledger there", data, own)
	}
	return text
}

// openAbove returns a folder above the data folder in which all users may write and exchange folders; "" without one.
func openAbove(data string) string {
	path, err := filepath.EvalSymlinks(data)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	for ; err == nil && path != filepath.Dir(path); path = filepath.Dir(path) {
		info, err := os.Stat(filepath.Dir(path))
		if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
			return filepath.Dir(path)
		}
	}
	return ""
}

// holdsLedger reports whether a data folder has the log of an embedded server.
func holdsLedger(data string) bool {
	_, err := os.Stat(folder.LockPath(filepath.Join(data, EventsFolder)))
	return err == nil
}

// BesideFault returns a fault if the data folder would be made in a folder that holds a ledger: the service would show an empty one.
func (o Options) BesideFault() string {
	above := filepath.Dir(o.Data)
	if _, err := os.Stat(o.Data); err == nil || o.NatsURL != "" || o.Data == "" || !holdsLedger(above) {
		return ""
	}
	return fmt.Sprintf("the data folder %s does not exist, and %s above it holds a ledger: name that one with `--data %[2]s` (PAYLEDGER_DATA), or make the folder %[1]s for a new ledger", o.Data, above)
}
