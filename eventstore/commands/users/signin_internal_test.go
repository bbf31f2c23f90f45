package users

import (
	"fmt"
	"slices"
	"testing"

	"payledger/domain/account"
)

// TestDecoysAreUnforeseen: without an account's id, which account a made-up name reads depends on
// the ledger's key, and is always the same. Else a stranger could find names that read the account
// of a known one, and compare their answers with its while this account fails.
func TestDecoysAreUnforeseen(t *testing.T) {
	t.Parallel()
	directory := []account.State{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	read := func(key string) (all []string) {
		u := &Users{Config: Config{Directory: func() []account.State { return directory }}, key: []byte(key)}
		for n := range 40 {
			one := u.decoys(SignInInput{Email: fmt.Sprintf("nobody-%d@example.com", n)}, 0)
			if len(one) != 1 {
				t.Fatalf("%v is read", one)
			}
			all = append(all, string(one[0]))
		}
		return all
	}
	first, other := read("a key"), read("another key")
	if slices.Equal(first, other) || !slices.Equal(first, read("a key")) {
		t.Errorf("read %v, and with another key %v", first, other)
	}
	for _, a := range directory {
		if !slices.Contains(first, string(a.ID)) {
			t.Errorf("%s is never read: %v", a.ID, first)
		}
	}
}
