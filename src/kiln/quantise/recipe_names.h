// Makes recipes from the names of number types, without files. The command line uses them when
// `--quantise` names a type, and the mixed-precision search for its candidates.
#ifndef KILN_QUANTISE_RECIPE_NAMES_H_
#define KILN_QUANTISE_RECIPE_NAMES_H_

#include <string>
#include <string_view>

#include "kiln/numerics/format.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// Returns an error for a format that no scale fits: int1, whose codes are -1 and 0.
Status CheckScalable(const Format& format);

// Returns the type that a name means for activations or for weights: FindQuantType, except that
// formats of up to 8 bits without blocks are given scales: activations one per tensor, weights one
// per output channel. Weights in wider whole integers also have one scale per output channel.
// RecipeByName and the key `type` of recipes use these functions.
//   errors  an unknown type; the message lists the known ones
StatusOr<QuantType> FindActivationType(std::string_view name);
StatusOr<QuantType> FindWeightType(std::string_view name);

// Returns a recipe with all activations and all weights in these types and everything else as in
// the recipe `int8`. Ranges of activations minimise the mean squared error (mse). So do those of
// weights, except for whole integers of 7 bits and more, where clipping gains nothing (min_max).
// Types under kNone and kPerBlock determine the scales themselves.
Recipe RecipeFor(const QuantType& activations, const QuantType& weights);

// Returns RecipeFor with the scales and zero points that suit the formats, if the types do not
// determine them. Formats of up to 8 bits without blocks are given scales: activations one per
// tensor, weights one per output channel. Whole integer activations are given a zero point if the
// weights are integers as well. RecipeByName uses this function.
Recipe RecipeWithScales(const QuantType& activations, const QuantType& weights);

// Returns a name that FindQuantType reads back as an equal type ("mxint8", "e4m3"); empty if there
// is none, for example for blocks of a size other than the standard's.
std::string NameOfType(const QuantType& type);

// Returns the recipe of a name:
//   ACTIVATIONS/WEIGHTS   two type names (FindQuantType), for example bf16/nf4
//   TYPE                  one name for both. Formats that make sense for weights only imply
//                         activations: nf4 means bf16/nf4 (nf4 was made for weights beside 16-bit
//                         activations); binary and ternary mean int8/binary and int8/ternary
// Types with blocks and types wider than 8 bits are used as they are. Other formats are given
// scales, which cost next to nothing in hardware (see RecipeWithScales). The files
// recipes/<TYPE>.yaml spell out the same recipes (tests/quantise/recipe_test.cc).
//   errors  an unknown type; the message lists the known ones
StatusOr<Recipe> RecipeByName(std::string_view name);

}  // namespace kiln

#endif  // KILN_QUANTISE_RECIPE_NAMES_H_
