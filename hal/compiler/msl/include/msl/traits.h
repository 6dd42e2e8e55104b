/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar types of the language, and <metal_type_traits>. */
#ifndef MSL_TRAITS_H
#define MSL_TRAITS_H

#include <stdint.h>

#define MSL_INLINE inline __attribute__((always_inline, nodebug))

typedef _Float16 half;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
struct bfloat;

namespace metal
{
using ::bfloat;
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using ::ulong;
using ::ushort;

template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const
    {
        return v;
    }
    constexpr T operator()() const
    {
        return v;
    }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool, class T = void> struct enable_if {
};
template <class T> struct enable_if<true, T> {
    using type = T;
};
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool, class A, class> struct conditional {
    using type = A;
};
template <class A, class B> struct conditional<false, A, B> {
    using type = B;
};
template <bool b, class A, class B> using conditional_t = typename conditional<b, A, B>::type;

#define MSL_TRANSFORM(name, from)                                                                  \
    template <class T> struct name {                                                               \
        using type = T;                                                                            \
    };                                                                                             \
    template <class T> struct name<from> {                                                         \
        using type = T;                                                                            \
    };                                                                                             \
    template <class T> using name##_t = typename name<T>::type;
MSL_TRANSFORM(remove_const, const T)
MSL_TRANSFORM(remove_volatile, volatile T)
MSL_TRANSFORM(remove_lvalue_reference, T &)
MSL_TRANSFORM(remove_rvalue_reference, T &&)
MSL_TRANSFORM(remove_plain_pointer, T *)
MSL_TRANSFORM(remove_unknown_extent, T[])
#undef MSL_TRANSFORM
template <class T> struct remove_cv {
    using type = remove_const_t<remove_volatile_t<T>>;
};
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_reference {
    using type = remove_lvalue_reference_t<remove_rvalue_reference_t<T>>;
};
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_pointer {
    using type = remove_plain_pointer_t<remove_cv_t<T>>;
};
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;
template <class T> struct remove_extent {
    using type = remove_unknown_extent_t<T>;
};
template <class T, size_t n> struct remove_extent<T[n]> {
    using type = T;
};
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> struct remove_addrspace {
    using type = T;
};
template <class T> using remove_addrspace_t = T;
template <class T> struct add_const {
    using type = const T;
};
template <class T> using add_const_t = const T;
template <class T> struct add_pointer {
    using type = remove_reference_t<T> *;
};
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> struct decay {
    using plain = remove_reference_t<T>;
    using type = conditional_t<__is_array(plain), remove_extent_t<plain> *, remove_cv_t<plain>>;
};
template <class T> using decay_t = typename decay<T>::type;
template <class T> T &&declval() noexcept;
template <class T> MSL_INLINE constexpr T &&forward(remove_reference_t<T> &value)
{
    return static_cast<T &&>(value);
}
template <class T> MSL_INLINE constexpr remove_reference_t<T> &&move(T &&value)
{
    return static_cast<remove_reference_t<T> &&>(value);
}

#define MSL_TRAIT(name, ...)                                                                       \
    template <class T> struct name : bool_constant<__VA_ARGS__> {                                  \
    };                                                                                             \
    template <class T> inline constexpr bool name##_v = name<T>::value;
#define MSL_TRAIT2(name, ...)                                                                      \
    template <class T, class U> struct name : bool_constant<__VA_ARGS__> {                         \
    };                                                                                             \
    template <class T, class U> inline constexpr bool name##_v = name<T, U>::value;
MSL_TRAIT2(is_same, __is_same(T, U))
MSL_TRAIT2(is_base_of, __is_base_of(T, U))
MSL_TRAIT2(is_convertible, __is_convertible_to(T, U))
MSL_TRAIT2(is_assignable, __is_assignable(T, U))
MSL_TRAIT(is_integral, __is_integral(remove_cv_t<T>))
MSL_TRAIT(is_floating_point, __is_same(remove_cv_t<T>, float) || __is_same(remove_cv_t<T>, half) ||
                                 __is_same(remove_cv_t<T>, bfloat))
MSL_TRAIT(is_arithmetic, is_integral<T>::value || is_floating_point<T>::value)
MSL_TRAIT(is_scalar, is_arithmetic<T>::value || __is_enum(T) || __is_pointer(T))
MSL_TRAIT(is_signed, is_floating_point<T>::value || __is_signed(remove_cv_t<T>))
MSL_TRAIT(is_unsigned, __is_unsigned(remove_cv_t<T>))
MSL_TRAIT(is_const, __is_const(T))
MSL_TRAIT(is_volatile, __is_volatile(T))
MSL_TRAIT(is_pointer, __is_pointer(T))
MSL_TRAIT(is_reference, __is_reference(T))
MSL_TRAIT(is_lvalue_reference, __is_lvalue_reference(T))
MSL_TRAIT(is_rvalue_reference, __is_rvalue_reference(T))
MSL_TRAIT(is_array, __is_array(T))
MSL_TRAIT(is_enum, __is_enum(T))
MSL_TRAIT(is_class, __is_class(T))
MSL_TRAIT(is_union, __is_union(T))
MSL_TRAIT(is_void, __is_void(T))
MSL_TRAIT(is_function, __is_function(T))
MSL_TRAIT(is_trivial, __is_trivial(T))
MSL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
MSL_TRAIT(is_trivially_constructible, __is_trivially_constructible(T))
MSL_TRAIT(is_standard_layout, __is_standard_layout(T))
MSL_TRAIT(is_pod, __is_pod(T))
#undef MSL_TRAIT
#undef MSL_TRAIT2
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {
};
template <class T, class... A>
inline constexpr bool is_constructible_v = __is_constructible(T, A...);

template <class T> struct underlying_type {
    using type = __underlying_type(T);
};
template <class T> using underlying_type_t = typename underlying_type<T>::type;

template <class T> struct make_unsigned {
    using type = conditional_t<
        sizeof(T) == 1, uint8_t,
        conditional_t<sizeof(T) == 2, uint16_t, conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
};
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> struct make_signed {
    using type = conditional_t<
        sizeof(T) == 1, int8_t,
        conditional_t<sizeof(T) == 2, int16_t, conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
};
template <class T> using make_signed_t = typename make_signed<T>::type;

template <class...> struct conjunction : true_type {
};
template <class A, class... B>
struct conjunction<A, B...> : conditional_t<bool(A::value), conjunction<B...>, A> {
};
template <class... A> inline constexpr bool conjunction_v = (bool(A::value) && ...);
template <class... A> struct disjunction : bool_constant<(bool(A::value) || ...)> {
};
template <class... A> inline constexpr bool disjunction_v = (bool(A::value) || ...);
/* As the standard library's own headers call them, and sources that look there. */
template <class... A> using _conjunction = conjunction<A...>;
template <class... A> using _disjunction = disjunction<A...>;
template <class A> struct negation : bool_constant<!bool(A::value)> {
};
template <class A> inline constexpr bool negation_v = !bool(A::value);

template <class To, class From> MSL_INLINE constexpr To as_type(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
    return __builtin_bit_cast(To, from);
}
} // namespace metal

using metal::as_type;

/* Helpers of the headers. */
namespace msl
{
template <class T> struct same_type {
    using type = T;
};
/* A parameter of this type takes no part in template argument deduction. */
template <class T> using given = typename same_type<T>::type;

template <class T> inline constexpr bool is_number = metal::is_arithmetic<T>::value;
template <class T> inline constexpr bool is_bfloat = __is_same(T, bfloat);
template <class T> using if_bfloat = metal::enable_if_t<is_bfloat<T>>;
} // namespace msl

/* The upper half of a float. Arithmetic is float's, rounded once to nearest even. */
struct alignas(2) bfloat {
    uint16_t bits;

    bfloat() = default;
    template <class U, class = metal::enable_if_t<msl::is_number<U> && !msl::is_bfloat<U>>>
    MSL_INLINE constexpr bfloat(U value) : bits(round(float(value)))
    {
    }
    MSL_INLINE constexpr operator float() const
    {
        return __builtin_bit_cast(float, uint32_t(bits) << 16);
    }
    static MSL_INLINE constexpr uint16_t round(float value)
    {
        const uint32_t u = __builtin_bit_cast(uint32_t, value);
        if ((u & 0x7fffffffu) > 0x7f800000u)
            return uint16_t(u >> 16 | 0x40);
        return uint16_t((u + 0x7fffu + (u >> 16 & 1)) >> 16);
    }
};

#define MSL_NO_MIX(U)                                                                              \
    static_assert(!__is_same(U, half), "half and bfloat do not mix: convert one of them")
#define MSL_BFLOAT(op)                                                                             \
    MSL_INLINE constexpr bfloat operator op(bfloat a, bfloat b)                                    \
    {                                                                                              \
        return bfloat(float(a) op float(b));                                                       \
    }                                                                                              \
    template <class U, class = metal::enable_if_t<msl::is_number<U> && !msl::is_bfloat<U>>>        \
    MSL_INLINE constexpr metal::conditional_t<metal::is_integral_v<U>, bfloat, float> operator op( \
        bfloat a, U b)                                                                             \
    {                                                                                              \
        MSL_NO_MIX(U);                                                                             \
        return float(a) op float(b);                                                               \
    }                                                                                              \
    template <class U, class = metal::enable_if_t<msl::is_number<U> && !msl::is_bfloat<U>>>        \
    MSL_INLINE constexpr metal::conditional_t<metal::is_integral_v<U>, bfloat, float> operator op( \
        U a, bfloat b)                                                                             \
    {                                                                                              \
        MSL_NO_MIX(U);                                                                             \
        return float(a) op float(b);                                                               \
    }                                                                                              \
    template <class U> MSL_INLINE constexpr bfloat &operator op##=(bfloat &a, U b)                 \
    {                                                                                              \
        MSL_NO_MIX(U);                                                                             \
        return a = bfloat(float(a) op float(b));                                                   \
    }
MSL_BFLOAT(+)
MSL_BFLOAT(-)
MSL_BFLOAT(*)
MSL_BFLOAT(/)
#undef MSL_BFLOAT
#define MSL_BFLOAT(op)                                                                             \
    MSL_INLINE constexpr bool operator op(bfloat a, bfloat b)                                      \
    {                                                                                              \
        return float(a) op float(b);                                                               \
    }                                                                                              \
    template <class U, class = metal::enable_if_t<msl::is_number<U> && !msl::is_bfloat<U>>>        \
    MSL_INLINE constexpr bool operator op(bfloat a, U b)                                           \
    {                                                                                              \
        return float(a) op float(b);                                                               \
    }                                                                                              \
    template <class U, class = metal::enable_if_t<msl::is_number<U> && !msl::is_bfloat<U>>>        \
    MSL_INLINE constexpr bool operator op(U a, bfloat b)                                           \
    {                                                                                              \
        return float(a) op float(b);                                                               \
    }
MSL_BFLOAT(==)
MSL_BFLOAT(!=)
MSL_BFLOAT(<)
MSL_BFLOAT(>)
MSL_BFLOAT(<=)
MSL_BFLOAT(>=)
#undef MSL_BFLOAT
namespace msl
{
/* 0 or 1 in a conditional expression: takes the other operand's type, since C++ cannot choose
 * between int and a class that converts both ways. Every type can represent both, so no result
 * changes. */
template <int value> struct choice {
    template <class T> MSL_INLINE constexpr operator T() const
    {
        return T(value);
    }
};
} // namespace msl
MSL_INLINE constexpr bfloat operator-(bfloat a)
{
    return __builtin_bit_cast(bfloat, uint16_t(a.bits ^ 0x8000));
}

#endif
