// Recipes without files: from the names of number types.
#ifndef KILN_QUANTISE_RECIPE_NAMES_H_
#define KILN_QUANTISE_RECIPE_NAMES_H_

#include <string>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// All activations and all weights in these types, everything else as in the recipe `int8`. Ranges of activations are
// those of least mean square error. So are those of weights, but for whole integers of 7 bits and more, where clipping
// gains nothing (min_max). What to do under kNone and kPerBlock the type says.
Recipe RecipeFor(const QuantType& activations, const QuantType& weights);

// RecipeFor with the scales and zero points that suit the formats, where the types themselves do not fix them: formats
// of up to 8 bits without blocks get scales, activations one per tensor, weights one per output channel; whole integers
// have zero points as activations, provided that the weights are integers, too. RecipeByName reads the same from a
// name.
Recipe RecipeWithScales(const QuantType& activations, const QuantType& weights);

// The name of a type that FindQuantType reads back as an equal type ("mxint8", "e4m3"); empty if there is none, as for
// blocks of another size than the standard's.
std::string NameOfType(const QuantType& type);

// The recipe of a name:
//   ACTIVATIONS/WEIGHTS   two type names (FindQuantType), as in bf16/nf4
//   TYPE                  both, but where a format makes sense for weights alone: nf4 stands for bf16/nf4 (made for
//                         weights beside 16-bit activations), binary and ternary stand for int8/binary and int8/ternary
// A type with blocks, or one wider than 8 bits without, is taken as it is. Other formats, where the type's name says
// nothing of scales, get them, for scales cost next to nothing in hardware: activations one per tensor, weights one per
// output channel. Whole integers have zero points as activations, beside weights that are integers, too.
// The files recipes/<TYPE>.yaml say the same in their own words (tests/quantise/recipe_test.cc).
//   errors  no such type; the message says what there is
StatusOr<Recipe> RecipeByName(std::string_view name);

}  // namespace kiln

#endif  // KILN_QUANTISE_RECIPE_NAMES_H_
