package users

import "testing"

// FuzzPassword: no text makes the check of passwords fail, and a long enough one of a single
// character is weak.
func FuzzPassword(f *testing.F) {
	for _, seed := range []string{"", "grape kettle sofa 91", "İİİİİİİİİİİİİİ", "\xff\xfe\xfdpasswordpassword", "p@ssw0rdİ\xffadmin1234", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
		f.Add(seed, "admin@example.com")
	}
	f.Fuzz(func(t *testing.T, password, name string) {
		password = normal(password)
		found := passwordFaults(password, "old", name, "shop")
		if n := len([]rune(password)); (n < MinPassword || n > MaxPassword) && len(found) == 0 {
			t.Errorf("%d characters are accepted", n)
		}
	})
}
