// Codebooks of one's own: a format of up to 8 bits from a YAML file, without touching code.
//
//   name: powers                       # for people: letters, digits and _
//   bits: 3                            # of a code, 1 to 8
//   values: [-4, -2, -1, 0, 1, 2, 4]   # by code, at most 2^bits: fp32 numbers, no two equal, in any order
//
// FindFormat("formats/powers.yaml") gives it; the path is the format's name everywhere (recipes, IR text,
// accelerators). How numbers round to it is said in codec.h. Codes beyond the list stand for its last value and are
// never produced.
#ifndef KILN_NUMERICS_CODEBOOK_H_
#define KILN_NUMERICS_CODEBOOK_H_

#include <string>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

struct CodebookFile {
  std::string name;
  int bits = 8;
  Codebook codebook;
};

// Errors: those of support/yaml.h, and with file, line and key: a name of other characters, bits outside 1 to 8, fewer
// than two values or more than 2^bits, a value that is no number, not finite in fp32 or there twice (-0 counts as 0).
StatusOr<CodebookFile> ParseCodebook(std::string_view text, std::string_view source);

// The format of a file, named after its path. Its Codebook is kept for the life of the process; a file read again gives
// the same one unless it has changed.
// Errors: those of ParseCodebook; no such file; a path with characters that the IR's text form has no words for.
StatusOr<Format> LoadCodebook(const std::string& path);

}  // namespace kiln

#endif  // KILN_NUMERICS_CODEBOOK_H_
