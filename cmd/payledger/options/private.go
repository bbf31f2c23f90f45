package options

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

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

// openFaults returns what other users of the machine may do with the data folder, its master key, and the files of secrets. A folder may
// be open to a group if it has the setgid bit, as the volumes of Kubernetes have with fsGroup.
func (o Options) openFaults() (faults []string) {
	if runtime.GOOS == "windows" { // it has no such modes
		return nil
	}
	if info, err := os.Stat(o.Data); err == nil {
		open := info.Mode().Perm() & 0o022
		if info.Mode()&os.ModeSetgid != 0 {
			open &= 0o002
		}
		if open != 0 {
			faults = append(faults, fmt.Sprintf("other users may change the data folder %s, which has the mode %04o: `chmod 700 %[1]s`", o.Data, info.Mode().Perm()))
		}
	}
	key := secrets.MasterKeyPath(o.Data)
	for _, path := range []string{key, key + ".next"} {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			faults = append(faults, fmt.Sprintf("other users may read the master key %s, which has the mode %04o: `chmod 600 %[1]s`", filepath.Clean(path), info.Mode().Perm()))
		}
	}
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
