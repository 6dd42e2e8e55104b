/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a kernel function's type and its parameters' attributes to something callable from C. */
#ifndef MSL_ENTRY_H
#define MSL_ENTRY_H

#include "msl/abi.h"
#include "msl/vector.h"

namespace msl
{
/* Our own lexer writes these names: one per parameter attribute of the language. */
enum class source {
    buffer,
    group_memory,
    group_variables,
    thread_position_in_grid,
    thread_position_in_threadgroup,
    threadgroup_position_in_grid,
    threads_per_grid,
    threads_per_threadgroup,
    threadgroups_per_grid,
    thread_index_in_threadgroup,
    thread_index_in_simdgroup,
    simdgroup_index_in_threadgroup,
    simdgroups_per_threadgroup,
    threads_per_simdgroup,
    thread_index_in_quadgroup,
    quadgroup_index_in_threadgroup,
    quadgroups_per_threadgroup,
    grid_origin
};
struct parameter {
    source from;
    int index; /* of a buffer or threadgroup argument, or next_free */
    bool enabled;
    bool is_constant; /* in the constant address space: only the type's own size is present */
};

constexpr int next_free = -2147483647;

/* Used by generated assertions about a kernel and its parameter `place`. */
template <class Function, size_t place> struct argument_of {
    using type = void;
};
template <class R, class First, class... Rest> struct argument_of<R (*)(First, Rest...), 0> {
    using type = First;
};
template <class R, class First, class... Rest, size_t place>
struct argument_of<R (*)(First, Rest...), place> : argument_of<R (*)(Rest...), place - 1> {
};
template <class Function> constexpr bool returns_nothing = false;
template <class... A> constexpr bool returns_nothing<void (*)(A...)> = true;
template <class Function, size_t place>
constexpr bool takes_memory = metal::is_pointer_v<typename argument_of<Function, place>::type> ||
                              metal::is_reference_v<typename argument_of<Function, place>::type>;
/* Whether an instantiation's parameter equals the template's. */
template <class Function, size_t place, class Other>
constexpr bool takes_as = metal::is_same_v<typename argument_of<Function, place>::type,
                                           typename argument_of<Other, 0>::type>;
/* Whether `use` accepts exactly one function. */
struct one_function {
    template <class R, class... A> void operator()(R (*)(A...)) const;
};
template <class Use>
constexpr auto names_one(const Use &use, int) -> decltype(use(one_function()), true)
{
    return true;
}
template <class Use> constexpr bool names_one(const Use &, long)
{
    return false;
}
template <class T>
constexpr bool counts = metal::is_same_v<T, uint32_t> || metal::is_same_v<T, uint16_t>;
template <class Function, size_t place>
constexpr bool takes = counts<metal::remove_cvref_t<typename argument_of<Function, place>::type>>;
template <class T> constexpr bool counts_places = counts<T>;
template <class T, int n> constexpr bool counts_places<metal::vec<T, n>> = counts<T> &&n < 4;
template <class Function, size_t place>
constexpr bool takes_vector =
    counts_places<metal::remove_cvref_t<typename argument_of<Function, place>::type>>;
constexpr bool is_index(int64_t index)
{
    return index >= 0 && index < MSL_ABI_BUFFERS;
}
constexpr bool is_constant_index(int64_t index)
{
    return index >= 0 && index < 65536;
}
template <size_t count> constexpr bool is_first(const parameter (&list)[count], size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (list[i].from == list[place].from && list[i].index == list[place].index &&
            list[i].enabled && list[place].enabled)
            return false;
    return true;
}

/* Function constants: a specialisation per constant precedes the source. */
template <int index> struct function_constant {
    static constexpr bool defined = false;
    static constexpr int components = 0;
    template <class T> static constexpr T get()
    {
        return T();
    }
};

/* A constant with a value: `values` are its components. */
template <class T, class... Values> constexpr T constant_of(Values... values)
{
    using vector = metal::remove_cv_t<T>;
    if constexpr (vector_length<vector> == 0)
        return T(values...);
    else
        return T(typename vector::component(values)...);
}
template <class T>
constexpr int constant_components =
    vector_length<metal::remove_cv_t<T>> == 0 ? 1 : vector_length<metal::remove_cv_t<T>>;

/* Whether it has as many values as components, or none. */
template <class T, int index>
constexpr bool may_be_given = !function_constant<index>::defined ||
                              constant_components<T> == function_constant<index>::components;

/* The number that reflection uses for the type of a function constant; 0: none. */
template <class T> constexpr uint32_t constant_type = 0;
template <class T> constexpr uint32_t constant_type<const T> = constant_type<T>;
template <> constexpr uint32_t constant_type<bool> = 1;
template <> constexpr uint32_t constant_type<int32_t> = 2;
template <> constexpr uint32_t constant_type<uint32_t> = 3;
template <> constexpr uint32_t constant_type<float> = 4;
template <> constexpr uint32_t constant_type<int8_t> = 5;
template <> constexpr uint32_t constant_type<uint8_t> = 6;
template <> constexpr uint32_t constant_type<int16_t> = 7;
template <> constexpr uint32_t constant_type<uint16_t> = 8;
template <> constexpr uint32_t constant_type<half> = 9;
template <> constexpr uint32_t constant_type<bfloat> = 10;
template <> constexpr uint32_t constant_type<int64_t> = 11;
template <> constexpr uint32_t constant_type<uint64_t> = 12;
template <class T, int n> constexpr uint32_t constant_type<metal::vec<T, n>> = constant_type<T>;
template <> constexpr uint32_t constant_type<char> = 5; /* distinct from int8_t in C++ */

/* Its address identifies a kernel, also inside the kernel. */
template <auto function> struct kernel_tag {
    static constexpr char id = 0;
};

struct position {
    uint32_t grid[3], local[3], group[3], index, lane, simdgroup;
};

/* Checked threads run on fibers, where a single one can be stopped. */
#ifdef __MSL_CHECK_BOUNDS
constexpr bool checks_bounds = true;
#else
constexpr bool checks_bounds = false;
#endif

/* Compile-time comparison of kernel names. */
constexpr bool same_name(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

template <class T> MSL_INLINE T coordinates(const uint32_t (&value)[3])
{
    using metal::remove_cvref_t;
    if constexpr (vector_length<T> == 0)
        return T(value[0]);
    else
        return T::generate([&](int i) { return typename T::component(value[i]); });
}

template <int count> struct resolved {
    int index[count + 1] = {};
    bool valid = true;
};

/* Numbers the parameters that have no index: the lowest free ones in order. */
template <int count> constexpr resolved<count> resolve(const parameter *parameters)
{
    resolved<count> result;
    uint64_t used[2] = {0, 0};
    for (int i = 0; i < count; i++) {
        const parameter &p = parameters[i];
        result.index[i] = is_index(p.index) ? p.index : 0;
        if (p.from <= source::group_memory && is_index(p.index))
            used[int(p.from)] |= 1ul << p.index;
    }
    for (int i = 0; i < count; i++) {
        const parameter &p = parameters[i];
        if (p.from > source::group_memory || p.index != next_free)
            continue;
        int next = 0;
        while (next < MSL_ABI_BUFFERS && used[int(p.from)] >> next & 1)
            next++;
        used[int(p.from)] |= 1ul << next;
        result.valid = result.valid && next < MSL_ABI_BUFFERS;
        result.index[i] = next < MSL_ABI_BUFFERS ? next : 0;
    }
    return result;
}

template <class A> constexpr uint8_t access_of()
{
    using pointed = metal::remove_pointer_t<metal::remove_reference_t<A>>;
    if (metal::is_reference_v<A>)
        return metal::is_const_v<metal::remove_reference_t<A>> ? 1 : 3;
    return metal::is_pointer_v<A> && !metal::is_const_v<pointed> ? 3 : 1;
}

/* Alignment of a buffer; 1 for incomplete types and void. */
template <class T, class = void> constexpr uint64_t alignment_in_memory = 1;
template <class T>
constexpr uint64_t alignment_in_memory<T, decltype(void(alignof(T)))> = alignof(T);

template <class A> constexpr uint8_t alignment_of()
{
    using pointed = metal::remove_pointer_t<metal::remove_reference_t<A>>;
    constexpr uint64_t alignment = alignment_in_memory<pointed>;
    return uint8_t(alignment < 128 ? alignment : 128);
}

template <class A> constexpr uint32_t bytes_of()
{
    using value = metal::remove_reference_t<A>;
    if constexpr (metal::is_pointer_v<value>)
        return 0;
    else
        return uint32_t(sizeof(value));
}

template <int... i> struct indices {
};

/* For anything but a kernel: an assertion has already failed. */
template <class Function, auto function, class Parameters> struct entry_for {
    template <bool, bool, uint32_t, uint32_t, uint32_t>
    static constexpr msl_abi_kernel describe(const char *, const char *)
    {
        return {};
    }
};
template <class... A, auto function, class Parameters>
struct entry_for<void (*)(A...), function, Parameters> {
    static constexpr int count = sizeof...(A);
    static constexpr resolved<count> numbers = resolve<count>(Parameters::list);
    static_assert(numbers.valid, "more than 31 buffers or threadgroup arguments");

    template <class T, T... i> struct index_list {
        static constexpr indices<i...> value = {};
    };
    static constexpr auto all_indices()
    {
        return __make_integer_seq<index_list, int, count>::value;
    }

    /* Values common to all threads, read once: the compiler cannot know that no store of the kernel
     * changes them. */
    struct arguments {
        void *address[count + 1];
        uint32_t workgroup_size[3], workgroup_count[3], grid_size[3];
    };
    template <int i> static MSL_INLINE void prepare_address(arguments &a, const msl_abi_launch *l)
    {
        constexpr parameter p = Parameters::list[i];
        a.address[i] = nullptr;
        if constexpr (p.enabled && p.from == source::buffer)
            a.address[i] = l->buffers[numbers.index[i]];
        if constexpr (p.enabled && p.from == source::group_memory)
            a.address[i] = l->group_memory[numbers.index[i]];
        if constexpr (p.from == source::group_variables)
            a.address[i] = l->group_variables;
    }
    template <int... i>
    static MSL_INLINE void prepare_addresses(arguments &a, const msl_abi_launch *l, indices<i...>)
    {
        (prepare_address<i>(a, l), ...);
    }
    /* No loops here: the size must be constant before the first loop is unrolled. */
    static MSL_INLINE arguments prepare(const msl_abi_launch *launch, uint32_t size_x,
                                        uint32_t size_y, uint32_t size_z)
    {
        arguments a;
        prepare_addresses(a, launch, all_indices());
        a.workgroup_size[0] = size_x;
        a.workgroup_size[1] = size_y;
        a.workgroup_size[2] = size_z;
        a.workgroup_count[0] = launch->workgroup_count[0];
        a.workgroup_count[1] = launch->workgroup_count[1];
        a.workgroup_count[2] = launch->workgroup_count[2];
        a.grid_size[0] = a.workgroup_size[0] * a.workgroup_count[0];
        a.grid_size[1] = a.workgroup_size[1] * a.workgroup_count[1];
        a.grid_size[2] = a.workgroup_size[2] * a.workgroup_count[2];
        return a;
    }
    static MSL_INLINE arguments prepare(const msl_abi_launch *launch)
    {
        return prepare(launch, launch->workgroup_size[0], launch->workgroup_size[1],
                       launch->workgroup_size[2]);
    }

    template <class T, int i> static MSL_INLINE T argument(const arguments &a, const position &p)
    {
        using V = metal::remove_cvref_t<T>;
        constexpr source from = Parameters::list[i].from;
        const uint32_t threads = a.workgroup_size[0] * a.workgroup_size[1] * a.workgroup_size[2];
        if constexpr (from <= source::group_variables) {
            if constexpr (metal::is_reference_v<T>)
                return *(metal::remove_reference_t<T> *)a.address[i];
            else if constexpr (metal::is_pointer_v<T>)
                return (T)a.address[i];
            else
                return *(T *)a.address[i];
        } else if constexpr (from == source::thread_position_in_grid)
            return coordinates<V>(p.grid);
        else if constexpr (from == source::thread_position_in_threadgroup)
            return coordinates<V>(p.local);
        else if constexpr (from == source::threadgroup_position_in_grid)
            return coordinates<V>(p.group);
        else if constexpr (from == source::threads_per_grid)
            return coordinates<V>(a.grid_size);
        else if constexpr (from == source::threads_per_threadgroup)
            return coordinates<V>(a.workgroup_size);
        else if constexpr (from == source::threadgroups_per_grid)
            return coordinates<V>(a.workgroup_count);
        else if constexpr (from == source::thread_index_in_threadgroup)
            return V(p.index);
        else if constexpr (from == source::thread_index_in_simdgroup)
            return V(p.lane);
        else if constexpr (from == source::simdgroup_index_in_threadgroup)
            return V(p.simdgroup);
        else if constexpr (from == source::simdgroups_per_threadgroup)
            return V((threads + MSL_ABI_SIMD_WIDTH - 1) / MSL_ABI_SIMD_WIDTH);
        else if constexpr (from == source::threads_per_simdgroup)
            return V(MSL_ABI_SIMD_WIDTH);
        else if constexpr (from == source::thread_index_in_quadgroup)
            return V(p.index % 4);
        else if constexpr (from == source::quadgroup_index_in_threadgroup)
            return V(p.index / 4);
        else if constexpr (from == source::quadgroups_per_threadgroup)
            return V((threads + 3) / 4);
        else
            return V(0);
    }
    template <int... i>
    static MSL_INLINE void call(const arguments &a, const position &p, indices<i...>)
    {
        function(argument<A, i>(a, p)...);
    }
    static MSL_INLINE void call(const arguments &a, const position &p)
    {
        call(a, p, all_indices());
    }

    /* Whether only the grid position matters: neighbouring groups then form one long row. */
    static constexpr bool grid_only()
    {
        for (int i = 0; i < count; i++) {
            const source from = Parameters::list[i].from;
            if (from == source::thread_position_in_threadgroup ||
                from == source::threadgroup_position_in_grid ||
                (from >= source::thread_index_in_threadgroup &&
                 from <= source::simdgroup_index_in_threadgroup) ||
                from == source::thread_index_in_quadgroup ||
                from == source::quadgroup_index_in_threadgroup || from == source::group_memory ||
                from == source::group_variables)
                return false;
        }
        return true;
    }

    /* Copies small constants, so that no store of the kernel can change them. Excludes const data
     * in the device address space, where a trailing array may be longer than declared. */
    template <class T, int i> static MSL_INLINE void copy_constant(arguments &a, char *copy)
    {
        using value = metal::remove_reference_t<T>;
        if constexpr (metal::is_reference_v<T> && metal::is_const_v<value> &&
                      Parameters::list[i].is_constant && Parameters::list[i].enabled &&
                      Parameters::list[i].from == source::buffer)
            if constexpr (sizeof(value) <= 64) {
                __builtin_memcpy(copy, a.address[i], sizeof(value));
                a.address[i] = copy;
            }
    }
    template <int... i>
    static MSL_INLINE void copy_constants(arguments &a, char (*copies)[64], indices<i...>)
    {
        (copy_constant<A, i>(a, copies[i]), ...);
    }

    static MSL_INLINE void find_group(const msl_abi_launch *launch, uint64_t number,
                                      uint32_t (&group)[3])
    {
        group[0] = uint32_t(number % launch->workgroup_count[0]);
        group[1] = uint32_t(number / launch->workgroup_count[0] % launch->workgroup_count[1]);
        group[2] = uint32_t(number / launch->workgroup_count[0] / launch->workgroup_count[1]);
    }
    /* Advances to a later group of the row, or to the first of the next row. Divisions for each
     * group would take a third of the time of a kernel that only adds. */
    static MSL_INLINE void advance(const msl_abi_launch *launch, uint32_t groups,
                                   uint32_t (&group)[3])
    {
        group[0] += groups;
        for (int i = 0; i < 2 && group[i] == launch->workgroup_count[i]; i++) {
            group[i] = 0;
            group[i + 1]++;
        }
    }

    static void run_groups(const msl_abi_launch *launch, uint64_t first, uint64_t last)
    {
        if (first >= last)
            return;
        arguments a = prepare(launch);
        alignas(64) char copies[count + 1][64];
        copy_constants(a, copies, all_indices());
        uint32_t group[3];
        find_group(launch, first, group);
        while (first < last) {
            uint64_t groups = 1;
            if (grid_only() && a.workgroup_count[0] - group[0] < last - first)
                groups = a.workgroup_count[0] - group[0];
            else if (grid_only())
                groups = last - first;
            const uint32_t begin = group[0] * a.workgroup_size[0];
            const uint32_t end = begin + uint32_t(groups) * a.workgroup_size[0];
            for (uint32_t z = 0; z < a.workgroup_size[2]; z++)
                for (uint32_t y = 0; y < a.workgroup_size[1]; y++) {
                    const uint32_t grid_y = group[1] * a.workgroup_size[1] + y;
                    const uint32_t grid_z = group[2] * a.workgroup_size[2] + z;
                    const uint32_t before = (z * a.workgroup_size[1] + y) * a.workgroup_size[0];
#pragma clang loop vectorize(assume_safety)
                    for (uint32_t x = begin; x < end; x++)
                        call(a, position{{x, grid_y, grid_z},
                                         {x - begin, y, z},
                                         {group[0], group[1], group[2]},
                                         before + (x - begin),
                                         (before + (x - begin)) % MSL_ABI_SIMD_WIDTH,
                                         (before + (x - begin)) / MSL_ABI_SIMD_WIDTH});
                }
            first += groups;
            advance(launch, uint32_t(groups), group);
        }
    }

    static void run_thread(const msl_abi_launch *launch, const uint32_t group[3], uint32_t index)
    {
        const arguments a = prepare(launch);
        position p;
        p.index = index;
        p.lane = index % MSL_ABI_SIMD_WIDTH;
        p.simdgroup = index / MSL_ABI_SIMD_WIDTH;
        p.local[0] = index % a.workgroup_size[0];
        p.local[1] = index / a.workgroup_size[0] % a.workgroup_size[1];
        p.local[2] = index / a.workgroup_size[0] / a.workgroup_size[1];
        for (int i = 0; i < 3; i++) {
            p.group[i] = group[i];
            p.grid[i] = group[i] * a.workgroup_size[i] + p.local[i];
        }
        call(a, p);
    }

    /* One thread, in the form that hal/compiler/msl/fission splits. */
    static __attribute__((noinline)) void thread(const msl_abi_launch *launch, uint32_t group_x,
                                                 uint32_t group_y, uint32_t group_z,
                                                 uint32_t size_x, uint32_t size_y, uint32_t size_z,
                                                 uint32_t local_x, uint32_t local_y,
                                                 uint32_t local_z, uint32_t index, uint32_t lane,
                                                 uint32_t simdgroup)
    {
        arguments a = prepare(launch, size_x, size_y, size_z);
        alignas(64) char copies[count + 1][64];
        copy_constants(a, copies, all_indices());
        call(a, position{{group_x * size_x + local_x, group_y * size_y + local_y,
                          group_z * size_z + local_z},
                         {local_x, local_y, local_z},
                         {group_x, group_y, group_z},
                         index,
                         lane,
                         simdgroup});
    }

    /* Calls the function of one thread as if it ran a whole group, as it will later. */
    template <uint32_t x, uint32_t y, uint32_t z>
    static void run_split(const msl_abi_launch *launch, uint64_t first, uint64_t last)
    {
        if (first >= last)
            return;
        uint32_t group[3];
        find_group(launch, first, group);
        for (; first < last; first++) {
            thread(launch, group[0], group[1], group[2], x ? x : launch->workgroup_size[0],
                   x ? y : launch->workgroup_size[1], x ? z : launch->workgroup_size[2], 0, 0, 0, 0,
                   0, 0);
            advance(launch, 1, group);
        }
    }

    /* x, y, z: the only group size to split for, 0: any. `lowering`: why nothing is split. */
    template <bool side_by_side, bool split, uint32_t x, uint32_t y, uint32_t z>
    static constexpr msl_abi_kernel describe(const char *name, const char *lowering)
    {
        msl_abi_kernel kernel = {};
        constexpr uint8_t access[] = {access_of<A>()..., 0};
        constexpr uint8_t alignments[] = {alignment_of<A>()..., 0};
        constexpr uint32_t bytes[] = {bytes_of<A>()..., 0};
        kernel.name = name;
        kernel.tag = &kernel_tag<function>::id;
        kernel.needs_sync = side_by_side;
        if constexpr (side_by_side && split) {
            kernel.run_split = run_split<x, y, z>;
            kernel.thread = thread;
            kernel.split_size[0] = x;
            kernel.split_size[1] = y;
            kernel.split_size[2] = z;
        } else if constexpr (side_by_side) {
            kernel.lowering = lowering;
        }
        kernel.checks_bounds = checks_bounds;
        if constexpr (checks_bounds)
            kernel.lowering = "fibers: bounds are checked";
        if constexpr (side_by_side || checks_bounds)
            kernel.run_thread = run_thread;
        else
            kernel.run_groups = run_groups;
        for (int i = 0; i < count; i++) {
            const parameter p = Parameters::list[i];
            const int number = numbers.index[i];
            if (!p.enabled)
                continue;
            if (p.from == source::buffer) {
                kernel.buffer_mask |= 1u << number;
                kernel.buffer_access[number] |= access[i];
                kernel.buffer_alignment[number] = alignments[i];
                kernel.buffer_bytes[number] = bytes[i];
            } else if (p.from == source::group_memory) {
                kernel.group_argument_mask |= 1u << number;
            }
        }
        return kernel;
    }
};

template <auto function, class Parameters>
using entry = entry_for<decltype(function), function, Parameters>;
} // namespace msl

#endif
