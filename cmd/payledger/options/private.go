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

// Warnings returns the faults that refuse a start in production, and are logged in the sandbox:
// other users of the machine can change the data folder, or read its master key.
func (o Options) Warnings() []string {
	if o.Sandbox() {
		return o.openFaults()
	}
	return nil
}

// openFaults returns what other users of the machine may do with the data folder, its master key,
// and the files of secrets.
func (o Options) openFaults() (faults []string) {
	if runtime.GOOS == "windows" { // it has no such modes
		return nil
	}
	faults = FolderFaults(o.Data)
	for flag, path := range map[string]string{
		"--master-key-file": o.MasterKeyFile, "--master-key-previous-file": o.PreviousKey.MasterKeyPreviousFile,
		"--processor-secret-file": o.ProcessorSecretFile, "--processor-token-file": o.ProcessorTokenFile, "--processor-ca": o.ProcessorCA,
		"--tls-key": o.TLSKey, "--nats-key": o.NatsKey, "--nats-creds": o.NatsCreds,
	} {
		if info, err := os.Stat(path); path != "" && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
			faults = append(faults, fmt.Sprintf("%s: other users may change %s, which has the mode %04o: `chmod 600 %[2]s`", flag, path, info.Mode().Perm()))
		}
	}
	return faults
}

// FolderFaults returns what other users of the machine may do with a data folder, which may not
// exist yet, and with its master key.
//
// Users that may write in a folder can exchange its files, and its owner can let himself do so: as
// for PostgreSQL and ssh, the folder belongs to the service's user or to root, and so does each
// symbolic link on the way to it. A folder may be open to a group if it has the setgid bit, as the
// volumes of Kubernetes have with fsGroup. The folders above it may be open to all, as the root of
// many volumes is (emptyDir, local-path, a tmpfs): other users cannot make a folder or link of the
// service's user to put it in the place of the data folder.
func FolderFaults(data string) []string {
	if runtime.GOOS == "windows" { // it has no such modes
		return nil
	}
	return folderFaults(data, os.Geteuid())
}

// folderFaults is FolderFaults for a service that runs as the user.
func folderFaults(data string, user int) (faults []string) {
	info, err := os.Stat(data)
	if err == nil {
		switch owner := limits.Owner(info); {
		case openTo(info) != 0:
			faults = append(faults, fmt.Sprintf("other users may change the data folder %s, which has the mode %04o: %s", data, info.Mode().Perm(), privateAdvice(data, info, user)))
		case !trusted(info, user):
			faults = append(faults, fmt.Sprintf("the data folder %s belongs to the user %d, who may change it: start the service as its owner, or give the folder "+
				"to the user of the service: `chown -R %d %[1]s`", data, owner, user))
		}
	}
	if link, owner := foreignLink(data, user); link != "" {
		faults = append(faults, fmt.Sprintf("the data folder %s is reached through the symbolic link %s of the user %d, who may lead it elsewhere: "+
			"name the folder itself with --data, or `chown -h %d %[2]s`", data, link, owner, user))
	}
	if err != nil {
		return faults
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

// trusted reports whether a file belongs to the user or to root, as far as the system says.
func trusted(info fs.FileInfo, user int) bool {
	return slices.Contains([]int{-1, 0, user}, limits.Owner(info))
}

// foreignLink returns the first symbolic link on the way to a path that belongs neither to the user
// nor to root; "" without one.
func foreignLink(path string, user int) (link string, owner int) {
	path, err := filepath.Abs(path)
	for end, links := 1, 0; err == nil && end <= len(path) && links < maxLinks; end++ {
		if end < len(path) && path[end] != filepath.Separator {
			continue
		}
		prefix := path[:end]
		info, statErr := os.Lstat(prefix)
		if statErr != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if !trusted(info, user) {
			return prefix, limits.Owner(info)
		}
		target, readErr := os.Readlink(prefix)
		if readErr != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(prefix), target)
		}
		path, end = filepath.Join(target, path[end:]), 0
		links++
	}
	return "", 0
}

// maxLinks is the number of symbolic links after which Linux refuses a path.
const maxLinks = 40

// openTo returns the bits of a folder's mode that let other users exchange its files.
func openTo(info fs.FileInfo) fs.FileMode {
	if info.Mode()&os.ModeSetgid != 0 {
		return info.Mode().Perm() & 0o002
	}
	return info.Mode().Perm() & 0o022
}

// EventsFolder is the folder of an embedded server in the data folder.
const EventsFolder = "events"

// ownFolder is the name of the data folder in a volume whose root is open to others, as in the
// image.
const ownFolder = "ledger"

// privateAdvice returns the way to make a data folder private that others may change, for a service
// that runs as the user. The service cannot change the mode of another user's folder, as the root
// of a volume in a container is.
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

// holdsLedger reports whether a data folder has the log of an embedded server.
func holdsLedger(data string) bool {
	_, err := os.Stat(folder.LockPath(filepath.Join(data, EventsFolder)))
	return err == nil
}

// BesideFault returns a fault if the data folder has no ledger and is in a folder that holds one:
// the service would show an empty ledger. It does not matter whether the data folder exists: an
// orchestrator, or a start that failed, may have made it.
func (o Options) BesideFault() string {
	if o.NatsURL != "" || o.Data == "" || holdsLedger(o.Data) {
		return ""
	}
	data, err := filepath.Abs(o.Data)
	if resolved, linkErr := filepath.EvalSymlinks(data); linkErr == nil {
		data = resolved
	}
	for above := filepath.Dir(data); err == nil && above != filepath.Dir(above); above = filepath.Dir(above) {
		if holdsLedger(above) {
			return fmt.Sprintf("the data folder %s has no ledger, and %s above it holds one: name that one with `--data %[2]s` (PAYLEDGER_DATA). "+
				"For a new ledger name a folder that is not in %[2]s", o.Data, above)
		}
	}
	return ""
}
