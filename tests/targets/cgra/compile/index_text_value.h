// Evaluates the text of an element index, for tests.
#ifndef TESTS_TARGETS_CGRA_COMPILE_INDEX_TEXT_VALUE_H_
#define TESTS_TARGETS_CGRA_COMPILE_INDEX_TEXT_VALUE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/cgra/compile/element_index.h"
#include "kiln/targets/cgra/compile/network_program.h"

namespace kiln::cgra {

// Returns the element that a text names in a tensor of this shape, or -1. Expects that the text is
// well-formed.
int64_t ValueOfText(const IndexText& text, const std::vector<int64_t>& shape, int64_t run,
                    int64_t thread, int64_t lane);

// Compares the texts of all launches of a program with the functions: of large launches, every lane
// of the first and the last runs and threads and of some between them.
void CheckIndexTexts(const NetworkProgram& program);

}  // namespace kiln::cgra

#endif  // TESTS_TARGETS_CGRA_COMPILE_INDEX_TEXT_VALUE_H_
