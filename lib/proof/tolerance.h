// How equal is equal: the one place that says how far the results of two versions may be apart. A site and a
// whole model are held to it, and what a device gave. What it rests on: the promise of the rewrite, the type
// of the elements, how often they are rounded (the length of the longest sum), and what the original itself
// loses against exact arithmetic.
#pragma once
#include <optional>
#include <string>

#include "lib/eval/tensor.h"
#include "lib/proof/proof.h"

namespace md {

/// Relative to the largest |output|: --max-error where nobody says otherwise, and what a device may be off in
/// fp32.
inline constexpr double default_error = ProofOptions{}.max_error;
/// What a device that computes in fp16 may be off: some tens of roundings to 2^-11.
inline constexpr double fp16_device_error = 3e-2;
/// What a model of bfloat16 is off by itself: a few roundings to its eight bits (2^-8), so a fix that
/// computes it in a wider type is this far away and nearer to what was meant.
inline constexpr double bfloat16_error = 2e-2;
/// What another order of a whole model's sums may change in fp32.
inline constexpr double model_sums_error = 1e-5;
/// |inputs| up to which sums may be reordered: nearer to the end of f32 any order may overflow.
inline constexpr double summable_limit = 1e30;

/// The bound of a `bounded` promise: the one that was asked for, or, where bfloat16 became a wider type, what
/// bfloat16 itself loses, if that is more.
double promised_error(double max_error, bool from_bfloat16);
/// What is said where that is not the one that was asked for.
std::string another_bound(double held_to, double asked_for);

/// What is known of one output before its elements are looked at.
struct Yardstick {
  DType dtype = DType::f32;
  bool floats = true;  ///< false: integers, booleans, quantized numbers
  double step = 0;     ///< of a quantized output: one step, with room for its own rounding
  double largest = 0;  ///< largest finite |original|, or |exact result|: it may overflow to nothing but zeros
  double terms = 0;    ///< largest finite |number| on the way to it; 0: not watched
  bool overflows = false;  ///< sums on the way to it left the range of floats, from finite inputs
  double own_error = 0;    ///< the original's largest error against exact arithmetic
  double own_ulps = 0;     ///< the same in units in the last place of the element
};
/// `exact`: the original in double precision, or null. `terms`: see there.
Yardstick measure(const Tensor& original, const Tensor* exact, double terms);

enum class Apart {
  same,      ///< one number; NaN is NaN, 0 is -0
  within,    ///< as near as promised
  nearer,    ///< the original overflows on the way, the new version gives what exact arithmetic gives
  leaves,    ///< the original leaves the range of floats, and so may the new version, in its own way
  overflow,  ///< the new version overflows where numbers near the largest float are summed
  beyond     ///< neither: the promise is broken
};

class Tolerance {
 public:
  /// Of a rewritten site. `roundings`: the length of its longest sum and the number of its operations;
  /// `sums`: something is added up, so that errors follow the terms and not the result.
  static Tolerance of_site(Exactness exactness, double max_error, double roundings, bool sums);
  /// Of a model as a whole. `leaving_stated`: what the new version gives where the original is not finite was
  /// said before.
  static Tolerance of_model(Exactness exactness, double max_error, bool leaving_stated);
  /// |a - b| <= absolute + relative * |a|, and nothing else.
  static Tolerance stated(double relative, double absolute);

  /// How far a finite element may be from `original`.
  double allowance(double original, const Yardstick& yardstick) const;
  /// `exact`: the element in exact arithmetic, where it is known.
  Apart compare(double original, double changed, std::optional<double> exact,
                const Yardstick& yardstick) const;
  /// The share of the largest |output| that is promised; nullopt: another measure.
  std::optional<double> relative() const;

 private:
  bool is_right(double changed, double exact, double room) const;

  bool exact_ = false;           ///< no other number will do
  bool stated_ = false;          ///< by the user: nothing else counts
  bool leaving_stated_ = false;  ///< anything goes where the original is not finite
  double absolute_ = 0;
  double of_element_ = 0;     ///< times |original|
  double of_largest_ = 0;     ///< times the largest |output|
  double ulps_ = 0;           ///< units in the last place of the element; the original's own count four times
  double ulps_of_terms_ = 0;  ///< units in the last place of the largest number on the way
  double of_own_error_ = 0;   ///< times the original's own largest error
  double steps_ = 0;          ///< of a quantized output
};

}  // namespace md
