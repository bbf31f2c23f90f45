package listener

import (
	"crypto/hmac"
	"crypto/sha512"
	"math/big"
)

// The text of a listener's secret is like that of a signing secret (D2).
const (
	secretPrefix = "plsec_"
	secretLength = 43
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Secret returns the secret of a lane's listener. It never changes under the same master key.
func (h *Hub) Secret(lane string) string {
	value, base, digit := new(big.Int).SetBytes(derive(h.Key, "secret\x00"+lane)), big.NewInt(int64(len(base62))), new(big.Int)
	text := make([]byte, secretLength)
	for i := range text {
		value.DivMod(value, base, digit)
		text[i] = base62[digit.Int64()]
	}
	return secretPrefix + string(text)
}

func derive(key []byte, purpose string) []byte {
	h := hmac.New(sha512.New, key)
	h.Write([]byte(purpose))
	return h.Sum(nil)
}
