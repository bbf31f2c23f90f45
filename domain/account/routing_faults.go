package account

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"payledger/domain"
	"payledger/domain/processor"
)

// Limits of routing rules, which the log stores with every event of the account.
const (
	MaxRules             = 50
	MaxRuleName          = 64  // characters
	MaxConditionValues   = 50  // of each list in a condition
	MaxRuleMetadataKeys  = 8   // in a condition
	MaxRuleMetadataBytes = 512 // in a condition: keys and values
)

type faults []domain.Violation

func (f *faults) add(path, format string, args ...any) {
	*f = append(*f, domain.Violation{Path: path, Description: fmt.Sprintf(format, args...)})
}

// Violations returns all violations of the rules, with paths in the JSON of D20.
func (r Routing) Violations() []domain.Violation {
	var found faults
	if len(r.Rules) > MaxRules {
		found.add("$.rules", "must have at most %d elements", MaxRules)
	}
	names := map[string]bool{"": true}
	for i, rule := range r.Rules[:min(len(r.Rules), MaxRules)] { // too many are refused without a look at the rest (D22.14)
		path := fmt.Sprintf("$.rules[%d]", i)
		switch {
		case rule.Name == "":
			found.add(path+".name", "must not be empty")
		case utf8.RuneCountInString(rule.Name) > MaxRuleName:
			found.add(path+".name", "must be at most %d characters long", MaxRuleName)
		case names[rule.Name]:
			found.add(path+".name", "is the name of another rule")
		}
		names[rule.Name] = true
		if len(rule.Processors) == 0 {
			found.add(path+".processors", "must not be empty")
		}
		ofList(&found, path+".processors", rule.Processors, knownProcessor, "a processor")
		found.ofConditions(path+".when", rule.When)
	}
	ofList(&found, "$.default", r.Default, knownProcessor, "a processor")
	return found
}

func (f *faults) ofConditions(path string, c Conditions) {
	ofList(f, path+".currencyCode", c.Currencies, domain.Currency.Known, "an active ISO 4217 currency code")
	ofList(f, path+".network", c.Networks, knownNetwork, "a card network")
	ofList(f, path+".countryCode", c.Countries, knownCountry, "an ISO 3166-1 alpha-2 country code")
	f.ofLimit(path+".minAmount", c.MinAmount)
	f.ofLimit(path+".maxAmount", c.MaxAmount)
	if c.MinAmount != nil && c.MaxAmount != nil && *c.MinAmount > *c.MaxAmount {
		f.add(path+".maxAmount", "must not be below minAmount")
	}
	f.ofMetadata(path+".metadata", c.Metadata)
}

func (f *faults) ofMetadata(path string, metadata domain.Metadata) {
	if len(metadata) > MaxRuleMetadataKeys {
		f.add(path, "must have at most %d keys", MaxRuleMetadataKeys)
		return
	}
	for key, value := range metadata {
		if key == "" {
			f.add(path, "must have no empty key")
		}
		if !plainValue(value) {
			f.add(path+"."+key, "must be a string, an integer between %d and %d, or true or false", -domain.MaxAmount, domain.MaxAmount)
		}
	}
	if metadata.Size() > MaxRuleMetadataBytes {
		f.add(path, "must be at most %d bytes in all", MaxRuleMetadataBytes)
	}
}

func plainValue(value any) bool {
	switch value := value.(type) {
	case string, bool:
		return true
	case int64:
		return value >= -int64(domain.MaxAmount) && value <= int64(domain.MaxAmount)
	default:
		return false
	}
}

func (f *faults) ofLimit(path string, limit *domain.Amount) {
	if limit != nil && (*limit < 0 || *limit > domain.MaxAmount) {
		f.add(path, "must be an integer between 0 and %d", domain.MaxAmount)
	}
}

// ofList checks that elements are known, unique and not too many.
func ofList[T comparable](f *faults, path string, list []T, known func(T) bool, what string) {
	if len(list) > MaxConditionValues {
		f.add(path, "must have at most %d elements", MaxConditionValues)
	}
	seen, twice := map[T]bool{}, false
	for i, value := range list[:min(len(list), MaxConditionValues)] {
		if !known(value) {
			f.add(fmt.Sprintf("%s[%d]", path, i), "must be %s", what)
		}
		twice = twice || seen[value]
		seen[value] = true
	}
	if twice {
		f.add(path, "must not name anything twice")
	}
}

func knownProcessor(name processor.Name) bool { return slices.Contains(processor.Names, name) }

func knownNetwork(network domain.Network) bool {
	return slices.Contains(domain.Enum("disputeNetwork"), string(network))
}

func knownCountry(code string) bool { return slices.Contains(domain.Enum("countryCode"), code) }
