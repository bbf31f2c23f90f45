package apikey_test

import (
	"crypto/sha256"
	"errors"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain/account"
	"payledger/domain/seedtest"
	"payledger/eventstore/secrets/apikey"
)

var environments = []string{account.Sandbox, account.Production}

// frozen is the key of the bytes 0 to 47. It was computed without this code, from the description
// in D2.
const frozen = "plk_sandbox_7RiJxkEgOGusQGwp_7u7ED6UzpF5eHPrBI5AHumY7UBpOQIJz2EcIKx"

func TestFrozen(t *testing.T) {
	var random [apikey.RandomSize]byte
	for i := range random {
		random[i] = byte(i)
	}
	key := apikey.New(account.Sandbox, random)
	if key.Text != frozen {
		t.Errorf("the key is %s", key.Text)
	}
	environment, id, err := apikey.Parse(frozen)
	if environment != account.Sandbox || id != key.ID || err != nil {
		t.Errorf("read as %s %s %v", environment, id, err)
	}
}

// TestKeys: Parse returns a key's environment and id, and no other text matches the key.
func TestKeys(t *testing.T) {
	shape := regexp.MustCompile(`^plk_(sandbox|live)_[0-9A-Za-z]{16}_[0-9A-Za-z]{38}$`)
	seedtest.Check(t, func(t *rapid.T) {
		var random [apikey.RandomSize]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), apikey.RandomSize, apikey.RandomSize).Draw(t, "random"))
		environment := rapid.SampledFrom(environments).Draw(t, "environment")
		key := apikey.New(environment, random)
		if !shape.MatchString(key.Text) {
			t.Fatalf("%s has the wrong shape", key.Text)
		}
		got, id, err := apikey.Parse(key.Text)
		if got != environment || id != key.ID || err != nil {
			t.Fatalf("%s is read as %s %s %v", key.Text, got, id, err)
		}
		if sum := sha256.Sum256([]byte(key.Text)); string(sum[:]) != string(key.Hash) || !apikey.Matches(key.Hash, key.Text) {
			t.Fatal("the hash is not the SHA-256 of the text")
		}

		typo := []byte(key.Text)
		at := rapid.IntRange(0, len(typo)-1).Draw(t, "at")
		typo[at] = rapid.SampledFrom([]byte("0aZ_-")).Filter(func(b byte) bool { return b != key.Text[at] }).Draw(t, "typo")
		if _, _, err := apikey.Parse(string(typo)); !errors.Is(err, apikey.ErrMalformed) {
			t.Fatalf("%s is read: %v", typo, err)
		}
		if apikey.Matches(key.Hash, string(typo)) {
			t.Fatalf("%s matches", typo)
		}
	})
}

func TestMalformed(t *testing.T) {
	for _, text := range []string{"", "plk", "plk_sandbox", "plk_sandbox_a_b", frozen + "x", frozen[1:], frozen[:len(frozen)-1], "sk" + frozen[3:], frozen + "_"} {
		if _, _, err := apikey.Parse(text); !errors.Is(err, apikey.ErrMalformed) {
			t.Errorf("%q is read: %v", text, err)
		}
	}
}
