// What a card number tells before anybody is asked: its brand, how it is grouped, whether it can be one.

// Ranges of the first digits, as the service knows them; the first that fits wins.
const brands = [
  { name: "Amex", digits: 2, ranges: [[34, 34], [37, 37]], lengths: [15], groups: [4, 6, 5], cvv: 4 },
  { name: "Diners", digits: 3, ranges: [[300, 305]], lengths: [14, 16, 19], groups: [4, 6, 9] },
  { name: "Diners", digits: 2, ranges: [[36, 36], [38, 39]], lengths: [14, 16, 19], groups: [4, 6, 9] },
  { name: "JCB", digits: 4, ranges: [[3528, 3589]], lengths: [16, 17, 18, 19] },
  { name: "Visa", digits: 1, ranges: [[4, 4]], lengths: [16, 18, 19] },
  { name: "Mir", digits: 4, ranges: [[2200, 2204]], lengths: [16, 17, 18, 19] },
  { name: "Mastercard", digits: 2, ranges: [[51, 55]], lengths: [16] },
  { name: "Mastercard", digits: 4, ranges: [[2221, 2720]], lengths: [16] },
  { name: "Discover", digits: 4, ranges: [[6011, 6011]], lengths: [16, 19] },
  { name: "Discover", digits: 3, ranges: [[644, 649]], lengths: [16, 19] },
  { name: "Discover", digits: 2, ranges: [[65, 65]], lengths: [16, 19] },
  { name: "UnionPay", digits: 2, ranges: [[62, 62]], lengths: [16, 17, 18, 19] },
  { name: "Maestro", digits: 2, ranges: [[50, 50], [56, 58]], lengths: [14, 15, 16, 17, 18, 19] },
  { name: "Maestro", digits: 1, ranges: [[6, 6]], lengths: [14, 15, 16, 17, 18, 19] },
];
const unknown = { name: "", lengths: [14, 15, 16, 17, 18, 19] };

// say marks a message; whoever shows it writes it in the page's language.
const say = (message) => message;

// latin writes the digits of every script as 0 to 9: "٤١", "４１", "४१". In Unicode the ten digits of a script follow
// each other, from a code that ends with 0 or 6.
function latin(text) {
  return text.normalize("NFKC").replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0);
    const row = code - (code % 16);
    const zero = /\p{Nd}/u.test(String.fromCodePoint(row)) ? row : row + 6;
    return String(code - zero);
  });
}

export const digitsOf = (text) => latin(text).replace(/[^0-9]/g, "");

const usual = { cvv: 3, groups: [4, 4, 4, 4, 3] };

const prefixed = (digits, b) => {
  const prefix = Number(digits.slice(0, b.digits));
  return digits.length >= b.digits && b.ranges.some(([from, to]) => prefix >= from && prefix <= to);
};

// undecided tells whether digits to come can still make the number one of the brand.
const undecided = (digits, b) => digits.length < b.digits && b.ranges.some(([from, to]) =>
  Number(digits.padEnd(b.digits, "9")) >= from && Number(digits.padEnd(b.digits, "0")) <= to);

// brandOf tells the brand from as many digits as there are; one that the next digits may change is not told.
export function brandOf(digits) {
  for (const b of brands) {
    if (prefixed(digits, b)) return { ...usual, ...b };
    if (undecided(digits, b)) break;
  }
  return { ...usual, ...unknown };
}

// brandOfWhole tells the brand of a number that is complete: its length counts too. undefined when none fits.
export function brandOfWhole(digits) {
  const found = brands.find((b) => prefixed(digits, b) && b.lengths.includes(digits.length));
  return found && { ...usual, ...found };
}

// longest is the number of digits after which no more are taken.
export const longest = (brand) => Math.max(...brand.lengths);

// grouped writes digits as they stand on a card of the brand.
export function grouped(digits, brand) {
  const parts = [];
  for (const size of brand.groups) {
    if (digits) parts.push(digits.slice(0, size));
    digits = digits.slice(size);
  }
  return parts.join(" ");
}

// luhn tells whether the last digit is the right check digit.
export function luhn(digits) {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let d = Number(digits[digits.length - 1 - i]);
    if (i % 2 === 1 && (d *= 2) > 9) d -= 9;
    sum += d;
  }
  return sum % 10 === 0;
}

// numberProblem says what is wrong with a card number, or "".
export function numberProblem(digits) {
  const brand = brandOf(digits);
  if (!digits) return say("Enter the card number.");
  if (brandOfWhole(digits)) return luhn(digits) ? "" : say("Check the card number: a digit seems to be wrong.");
  if (digits.length < Math.min(...brand.lengths)) return say("The card number is too short.");
  return brand.name ? say("Check the card number: it has too many or too few digits.") : say("Enter a card number: this one is of no brand that we know.");
}

// expiryDigits reads what is typed, pasted or filled in: "3/30", "03 / 2030", "2030-03", "0330". It gives MMYY as
// far as it goes, and a year that is being written out as it stands.
export function expiryDigits(typed) {
  const text = latin(typed);
  const turned = /^\s*(20[0-9]{2})\D+([0-9]{1,2})\s*$/.exec(text);
  if (turned) return turned[2].padStart(2, "0") + turned[1].slice(2);
  const [month, year] = text.split(/\D+/).filter(Boolean);
  let digits = digitsOf(text);
  if ((year !== undefined && month.length === 1) || (digits.length === 1 && digits > "1")) digits = `0${digits}`;
  if (digits.slice(2, 4) !== "20") return digits.slice(0, 4);
  return digits.length < 6 ? digits : digits.slice(0, 2) + digits.slice(4, 6);
}

// expiryProblem says what is wrong with MMYY, or "". oldest is the oldest month with which the service still takes a card, as YYYY-MM: the
// service decides when a card has expired, not this browser's clock.
export function expiryProblem(digits, oldest) {
  if (!digits) return say("Enter the expiry date.");
  if (digits.length !== 4) return say("Enter month and year: MM / YY.");
  const month = Number(digits.slice(0, 2));
  if (month < 1 || month > 12) return say("The month is between 01 and 12.");
  return `20${digits.slice(2)}-${digits.slice(0, 2)}` < oldest ? say("The card has expired.") : "";
}

// cvvProblem says what is wrong with a security code of so many digits, or "".
export function cvvProblem(digits, length) {
  if (!digits) return say("Enter the security code.");
  if (digits.length === length) return "";
  return length === 4 ? say("The security code has 4 digits.") : say("The security code has 3 digits.");
}
