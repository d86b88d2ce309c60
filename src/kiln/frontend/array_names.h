// Converts names of values to names of arrays in .npz archives and of .npy files in folders. The
// data readers and the commands that write outputs use the same names, so that outputs of one run
// can be inputs of another.
#ifndef KILN_FRONTEND_ARRAY_NAMES_H_
#define KILN_FRONTEND_ARRAY_NAMES_H_

#include <string>
#include <string_view>

namespace kiln {

// Returns `name` with each byte outside [A-Za-z0-9_-] written as % and two upper-case hexadecimal
// digits: "/head/Gemm:0" becomes "%2Fhead%2FGemm%3A0". Different names stay different. The result
// has no dot, slash or control character, so it is never a path and never has an extension.
std::string ArrayNameOf(std::string_view name);

}  // namespace kiln

#endif  // KILN_FRONTEND_ARRAY_NAMES_H_
