// Names of values as names of arrays in .npz archives and of .npy files in folders.
#ifndef KILN_FRONTEND_ARRAY_NAMES_H_
#define KILN_FRONTEND_ARRAY_NAMES_H_

#include <string>
#include <string_view>

namespace kiln {

// Returns `name` with every byte outside [A-Za-z0-9_-] written as % and two upper-case hexadecimal digits:
// "/head/Gemm:0" becomes "%2Fhead%2FGemm%3A0". Different names stay different; no result has a dot, a slash or a
// control character, so that none is a path or has an extension.
std::string ArrayNameOf(std::string_view name);

}  // namespace kiln

#endif  // KILN_FRONTEND_ARRAY_NAMES_H_
