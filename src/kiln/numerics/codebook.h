// Codebooks of the user: a format of up to 8 bits that a YAML file defines, without any code.
//
//   name: powers                       # for human readers: letters, digits and _
//   bits: 3                            # width of a code, 1 to 8
//   values: [-4, -2, -1, 0, 1, 2, 4]   # by code; 2 to 2^bits distinct fp32 numbers in any order
//
// FindFormat("formats/powers.yaml") returns the format. Its path is its name everywhere (recipes,
// IR text, accelerators). codec.h defines how numbers round to it. Codes beyond the list represent
// its last value and are never produced.
#ifndef KILN_NUMERICS_CODEBOOK_H_
#define KILN_NUMERICS_CODEBOOK_H_

#include <string>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

// The content of a codebook file.
struct CodebookFile {
  std::string name;
  int bits = 8;
  Codebook codebook;
};

// Parses a codebook file; `source` names it in messages. Errors: those of support/yaml.h, and with
// file, line and key: a name with other characters, bits outside 1 to 8, fewer than two values or
// more than 2^bits, a value that is not a finite number in fp32, two equal values (-0 equals 0).
StatusOr<CodebookFile> ParseCodebook(std::string_view text, std::string_view source);

// Returns the format that a codebook file defines, named after its path. The Codebook is kept for
// the life of the process; a file that is loaded again yields the same object unless it has
// changed. Errors: those of ParseCodebook; no such file; a path with characters that format names
// cannot have in the IR's text form.
StatusOr<Format> LoadCodebook(const std::string& path);

}  // namespace kiln

#endif  // KILN_NUMERICS_CODEBOOK_H_
