package apikey_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore/secrets/apikey"
)

// vectors are keys that were computed without this code, from the description in D2.
var vectors = []struct{ environment, random, text string }{
	{account.Sandbox, "the quick brown fox jumps over the lazy dog 0123", "plk_sandbox_6tjZKAMgW83RDPBg_YkE0kHzVR0VArDL8YbQ3V0VlqDn7Yump12EKCV"},
	{account.Production, "the quick brown fox jumps over the lazy dog 0123", "plk_live_6tjZKAMgW83RDPBg_YkE0kHzVR0VArDL8YbQ3V0VlqDn7Yump4bQ0ce"},
	{account.Production, strings.Repeat("\x00", 48), "plk_live_0000000000000000_000000000000000000000000000000002erjaP"},
	{account.Sandbox, strings.Repeat("~", 48), "plk_sandbox_EYnfn7UMp1XnXHu2_gshwOTgwOqfHysGiRjFAzRZd3cmn9KMI4bVJAu"},
}

// TestVectors: New and Parse agree with the vectors.
func TestVectors(t *testing.T) {
	for _, v := range vectors {
		key := apikey.New(v.environment, [apikey.RandomSize]byte([]byte(v.random)))
		if key.Text != v.text {
			t.Errorf("%s made of %q is %s, want %s", v.environment, v.random, key.Text, v.text)
		}
		environment, id, err := apikey.Parse(v.text)
		if environment != v.environment || id != key.ID || err != nil {
			t.Errorf("%s is read as %s %s %v", v.text, environment, id, err)
		}
		if !apikey.Matches(apikey.Hash(v.text), v.text) {
			t.Errorf("%s does not match its hash", v.text)
		}
	}
}

// TestEveryTypo: a text with one wrong, missing, doubled or swapped character is not a key (D2).
func TestEveryTypo(t *testing.T) {
	for _, v := range vectors {
		refused := func(text string) {
			if _, _, err := apikey.Parse(text); text != v.text && !errors.Is(err, apikey.ErrMalformed) {
				t.Errorf("%q is read, from %s", text, v.text)
			}
		}
		key := []byte(v.text)
		for i := range key {
			for b := range 256 {
				typo := slices.Clone(key)
				typo[i] = byte(b)
				refused(string(typo))
			}
			refused(string(slices.Delete(slices.Clone(key), i, i+1)))
			refused(string(slices.Insert(slices.Clone(key), i, key[i])))
			if i > 0 {
				swapped := slices.Clone(key)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				refused(string(swapped))
			}
		}
		refused(" " + v.text)
		refused(v.text + "\n")
		refused(strings.ToUpper(v.text))
	}
}

// TestEnvironments: the checksum covers the prefix, so a key of one environment is not a key of
// another.
func TestEnvironments(t *testing.T) {
	for _, v := range vectors {
		for _, pair := range [][2]string{{"plk_sandbox_", "plk_live_"}, {"plk_live_", "plk_sandbox_"}, {"plk_sandbox_", "plk_test_"}, {"plk_live_", "plk__"}} {
			if rest, has := strings.CutPrefix(v.text, pair[0]); has {
				if _, _, err := apikey.Parse(pair[1] + rest); !errors.Is(err, apikey.ErrMalformed) {
					t.Errorf("%s is read", pair[1]+rest)
				}
			}
		}
	}
	for _, environment := range []string{account.Sandbox, account.Production} {
		if !slices.ContainsFunc(vectors, func(v struct{ environment, random, text string }) bool { return v.environment == environment }) {
			t.Errorf("no vector for %s", environment)
		}
	}
}
