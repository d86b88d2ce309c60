// Classes of characters that several parsers and checks of names share, independent of the locale.
#ifndef KILN_SUPPORT_CHARACTERS_H_
#define KILN_SUPPORT_CHARACTERS_H_

namespace kiln {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Returns whether a character may occur in an identifier of C or Verilog: an ASCII letter or digit,
// or an underscore.
inline bool IsNameCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

}  // namespace kiln

#endif  // KILN_SUPPORT_CHARACTERS_H_
